"""The backoff that a poll is given: what can be said of it is noted where its author wrote it."""

from __future__ import annotations

from datetime import timedelta

from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.arguments import Signature, bind
from flowx_compiler.link.constants import NOT_CONSTANT
from flowx_compiler.link.durations import DURATION_HINT, read_duration
from flowx_compiler.link.project import RUNTIME, Given, Project
from flowx_compiler.syntax import Attribute, Call, Expr

_GROWING = Signature(flexible=("base", "ceiling"), required=frozenset({"base"}))
_FACTORIES = {
    "fixed": Signature(flexible=("gap",), required=frozenset({"gap"})),
    "exponential": _GROWING,
    "exponential_jitter": _GROWING,
}
_MAX_ATTEMPTS = Signature(flexible=("attempts",), required=frozenset({"attempts"}))
_BACKOFF = f"{RUNTIME}Backoff"
_WRITE = 'write `Backoff.exponential_jitter("PT5S", "PT5M")`, or a constant naming one'


def is_backoff(project: Project, module: str, expression: Expr, call: str) -> bool:
    """Whether an expression gives a backoff, as far as can be told; what is wrong with it has been noted then."""
    home, target = project.constants.follow(module, expression)
    if isinstance(target, Call) and isinstance(target.function, Attribute):
        owner = project.names.resolve_expression(home, target.function.value)
        if owner == _BACKOFF:
            return _is_factory_call(project, home, target, target.function)
        if _is_built(project, home, target.function.value):
            return _is_limited(project, home, target, target.function, call)
    if project.constants.may_be(module, expression, kinds=()):
        return True
    place = project.place(module, expression.span)
    project.problems.add(ids.NOT_A_BACKOFF, place, f"`interval` of `{call}` is not a `Backoff`", _WRITE)
    return False


def _is_built(project: Project, module: str, expression: Expr) -> bool:
    """Whether an expression is, after one hop, a call that starts at `Backoff`."""
    home, target = project.constants.follow(module, expression)
    while isinstance(target, Call) and isinstance(target.function, Attribute):
        if project.names.resolve_expression(home, target.function.value) == _BACKOFF:
            return True
        target = target.function.value
    return False


def _is_factory_call(project: Project, module: str, call: Call, function: Attribute) -> bool:
    at = project.place(module, function.attr_span)
    signature = _FACTORIES.get(function.attr)
    if signature is None:
        message = f"`Backoff` has no `{function.attr}`"
        project.problems.add(ids.NOT_A_BACKOFF, at, message, f"it has {', '.join(f'`{name}`' for name in _FACTORIES)}")
        return False
    given = bind(project, module, call, f"Backoff.{function.attr}", signature, at)
    return given is not None and _are_gaps(project, module, given, function)


def _are_gaps(project: Project, module: str, given: Given, function: Attribute) -> bool:
    name = f"Backoff.{function.attr}"
    read = {
        parameter: read_duration(project, module, argument.value, name, parameter)
        for parameter, argument in given.by_name.items()
    }
    if any(duration is None for duration in read.values()):
        return False
    gaps = {parameter: duration.folded for parameter, duration in read.items() if duration is not None}
    base, ceiling = gaps.get("base"), gaps.get("ceiling")
    if isinstance(base, timedelta) and isinstance(ceiling, timedelta) and ceiling < base:
        place = project.place(module, given.by_name["ceiling"].span)
        message = f"the ceiling {ceiling} of this `Backoff` is below its first gap {base}"
        project.problems.add(ids.NOT_A_BACKOFF, place, message, f"give a longer ceiling: {DURATION_HINT}")
        return False
    return True


def _is_limited(project: Project, module: str, target: Call, function: Attribute, call: str) -> bool:
    """A call on a built backoff: `max_attempts` is the only one."""
    at = project.place(module, function.attr_span)
    if function.attr != "max_attempts":
        message = f"a `Backoff` has no `{function.attr}`"
        project.problems.add(ids.NOT_A_BACKOFF, at, message, "bound it with `.max_attempts(n)`, or take this away")
        return False
    given = bind(project, module, target, "max_attempts", _MAX_ATTEMPTS, at)
    if given is None or not is_backoff(project, module, function.value, call):
        return False
    argument = given.by_name["attempts"]
    attempts = project.constants.literal(module, argument.value)
    if attempts is NOT_CONSTANT or (isinstance(attempts, int) and not isinstance(attempts, bool) and attempts >= 1):
        return True
    place = project.place(module, argument.span)
    message = f"`max_attempts` is given {attempts!r}, which is not a number from 1"
    project.problems.add(ids.BAD_NUMBER, place, message, "write how many attempts there may be in all")
    return False
