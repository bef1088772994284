"""What answers instead of a capability: a value, one after the other, an error, something later, a function."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from flowx_runtime.authoring.durations import duration as parsed
from flowx_runtime.plan.uses import CapabilityUse
from flowx_runtime.testing.errors import TestSetupError

__tracebackhide__ = True  # a failed test shows its own lines

Sleep: TypeAlias = Callable[[timedelta], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Sequence:
    """See `sequence`."""

    items: tuple[Any, ...]
    repeat: bool


@dataclass(frozen=True, slots=True)
class Fails:
    """See `fails`."""

    error: Exception | type[Exception]


@dataclass(frozen=True, slots=True)
class After:
    """See `after`."""

    duration: timedelta
    answer: Any


def sequence(*answers: Any, repeat: bool = False) -> Sequence:
    """One answer per call, in order; with `repeat` it begins again from the first.

    An attempt that is made again, because its host died before its row was written, gets the answer it had.
    """
    if not answers:
        raise TestSetupError("a sequence needs at least one answer: write sequence(A, B)")
    return Sequence(answers, repeat)


def fails(error: Exception | type[Exception]) -> Fails:
    """Raise an error; a `FlowError` is a business error, any other a defect."""
    if not (isinstance(error, Exception) or (isinstance(error, type) and issubclass(error, Exception))):
        raise TestSetupError(f"fails() takes an exception or its class, not {error!r}")
    return Fails(error)


def after(duration: str | timedelta, answer: Any) -> After:
    """Answer so much later by the virtual clock (`after("PT10S", PENDING)`); the step is under way until then."""
    return After(parsed(duration), answer)


class Substitute:
    """One capability's answers in one test host. It belongs to the world outside: no dead host forgets it."""

    def __init__(self, use: CapabilityUse, answer: Any, *, is_optional: bool) -> None:
        self.use = use
        self.is_optional = is_optional
        self.is_used = False
        self._answer = answer
        self._given: dict[Hashable, list[int]] = {}
        self._made: Counter[Hashable] = Counter()
        self._next_item = 0
        _check(use, answer)

    async def answer(self, request: Any, context: Any, *, attempt: Hashable, made_by: Hashable, sleep: Sleep) -> Any:
        """What the capability gives for one attempt of one step.

        Args:
            request: what it is given.
            context: likewise.
            attempt: which attempt; one that another host makes again gets the answer it had.
            made_by: which host, under which lease.
            sleep: how it waits.

        Raises:
            TestSetupError: there is no answer left, or it is not what the capability declares.
        """
        self.is_used = True
        given = await self._resolve(self._answer, request, context, (attempt, made_by), sleep)
        _check_value(self.use, given)
        return given

    async def _resolve(
        self, answer: Any, request: Any, context: Any, attempt: tuple[Hashable, Hashable], sleep: Sleep
    ) -> Any:
        match answer:
            case Sequence():
                return await self._resolve(self._next(answer, attempt), request, context, attempt, sleep)
            case Fails(error=error):
                raise error
            case After(duration=duration, answer=later):
                await sleep(duration)
                return await self._resolve(later, request, context, attempt, sleep)
            case _ if _is_function(answer):
                given = _called(answer, request, context)
                return await given if inspect.isawaitable(given) else given
            case _:
                return answer

    def _next(self, answers: Sequence, attempt: tuple[Hashable, Hashable]) -> Any:
        given = self._given.setdefault(attempt[0], [])
        before = self._made[attempt]  # a hedge calls more than once in one attempt
        self._made[attempt] += 1
        if before == len(given):
            given.append(self._next_item)
            self._next_item += 1
        number = given[before]
        if number >= len(answers.items) and not answers.repeat:
            raise TestSetupError(
                f"call {number + 1} of {self.use.id!r} finds no answer, for its sequence has {len(answers.items)}: "
                "give it more, or repeat=True"
            )
        return answers.items[number % len(answers.items)]


def _check(use: CapabilityUse, answer: Any) -> None:
    """Refuse what could never be right before anything runs."""
    match answer:
        case Sequence(items=items):
            for item in items:
                _check(use, item)
        case After(answer=later):
            _check(use, later)
        case Fails():
            return
        case Exception():
            raise TestSetupError(f"{use.id!r} is to give an exception: write fails({type(answer).__name__}(…))")
        case type() if issubclass(answer, Exception):
            raise TestSetupError(f"{use.id!r} is to give an exception: write fails({answer.__name__})")
        case _ if not _is_function(answer):
            _check_value(use, answer)


def _check_value(use: CapabilityUse, value: Any) -> None:
    if use.result is None:
        if value is not None:
            raise TestSetupError(f"{use.id!r} declares no result, and its substitute is {_named(value)}: give None")
    elif not isinstance(value, use.result):
        wanted = use.result.__name__
        raise TestSetupError(f"{use.id!r} declares {wanted}, and its substitute is {_named(value)}: give {wanted}(…)")


def _named(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"


def _is_function(answer: Any) -> bool:
    return callable(answer) and not isinstance(answer, type)


def _called(function: Callable[..., Any], request: Any, context: Any) -> Any:
    """Call it with as much of `(request, ctx)` as it takes."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    takes = 2 if any(each.kind is each.VAR_POSITIONAL for each in parameters) else 0
    takes = max(takes, sum(1 for each in parameters if each.kind in kinds))
    return function(*(request, context)[:takes])
