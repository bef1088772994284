"""What an expression folds to: literals, durations, backoffs, policies, one hop through a module-level constant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from flowx_compiler.findings import Place
from flowx_compiler.link.names import Names
from flowx_compiler.link.sources import Sources
from flowx_compiler.model import Backoff, MergeRule, Policy, Retry, Value
from flowx_compiler.syntax import Argument, Assign, Attribute, Call, Constant, Display, Expr, Operation
from flowx_runtime.plan import InvalidDuration, parse_duration


class NotConstant:
    """The answer where an expression is not a constant."""


NOT_CONSTANT: Final = NotConstant()
_TIMEDELTA_UNITS = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")
_RUNTIME = "flowx_runtime."
_DEFAULT_CEILING = timedelta(days=1)


class Constants:
    """Folds expressions of a project's modules."""

    def __init__(self, names: Names, sources: Sources) -> None:
        self._names = names
        self._sources = sources

    def value(self, module: str, expression: Expr) -> Value:
        """The expression with where it stands and which constant it names."""
        found = self._constant(module, expression)
        file = self._file(module)
        declared = None
        if found is not None:
            _, home, statement = found
            declared = Place(self._file(home), statement.span)
        return Value(module, expression, None if found is None else found[0], declared, Place(file, expression.span))

    def literal(self, module: str, expression: Expr) -> object:
        """A literal, tuple of literals, enum member (`("enum", class, member)`) or constant of those."""
        match expression:
            case Constant(value=value):
                return value
            case Display(kind="tuple" | "list", items=items):
                values = tuple(self.literal(module, item) for item in items)
                return NOT_CONSTANT if NOT_CONSTANT in values else values
            case _:
                pass
        home, target = self._follow(module, expression)
        if target is not expression:
            return self.literal(home, target)
        if isinstance(expression, Attribute):
            owner = self._names.resolve_expression(module, expression.value)
            if owner is not None:
                return ("enum", owner, expression.attr)
        return NOT_CONSTANT

    def duration(self, module: str, expression: Expr) -> timedelta | NotConstant | InvalidDuration:
        """The duration an expression means; an `InvalidDuration` where its text is of another form."""
        home, target = self._follow(module, expression)
        match target:
            case Constant(value=str(text)):
                try:
                    return parse_duration(text)
                except InvalidDuration as error:
                    return error
            case Call() if self._names.resolve_expression(home, target.function) == "datetime.timedelta":
                return self._timedelta(home, target)
            case _:
                return NOT_CONSTANT

    def looks_like_duration(self, module: str, expression: Expr) -> bool:
        """Whether an expression that does not fold may still give a duration (a call, a name), not a bare number."""
        _, target = self._follow(module, expression)
        return not isinstance(target, Constant | Display | Operation) or (
            isinstance(target, Operation) and target.kind in ("binary", "conditional")
        )

    def backoff(self, module: str, expression: Expr) -> Backoff | None:
        """The backoff an expression means."""
        home, target = self._follow(module, expression)
        if not isinstance(target, Call) or not isinstance(target.function, Attribute):
            return None
        if target.function.attr == "max_attempts":
            inner = self.backoff(home, target.function.value)
            attempts = self.literal(home, target.arguments[0].value) if target.arguments else None
            if inner is None or not isinstance(attempts, int) or isinstance(attempts, bool):
                return None
            return Backoff(inner.growth, inner.base, inner.ceiling, attempts)
        if self._names.resolve_expression(home, target.function.value) != f"{_RUNTIME}Backoff":
            return None
        growth = target.function.attr
        given = _bound(target.arguments, ("gap",) if growth == "fixed" else ("base", "ceiling"))
        durations = {name: self.duration(home, value) for name, value in given.items()}
        base = durations.get("gap", durations.get("base"))
        ceiling = durations.get("ceiling", base if growth == "fixed" else _DEFAULT_CEILING)
        if growth not in ("fixed", "exponential", "exponential_jitter"):
            return None
        if not isinstance(base, timedelta) or not isinstance(ceiling, timedelta):
            return None
        return Backoff(growth, base, ceiling, None)

    def is_backoff_factory(self, module: str, expression: Expr) -> bool:
        """Whether an expression is a call of a `Backoff` factory, foldable or not."""
        home, target = self._follow(module, expression)
        while isinstance(target, Call) and isinstance(target.function, Attribute):
            owner = self._names.resolve_expression(home, target.function.value)
            if owner == f"{_RUNTIME}Backoff":
                return True
            home, target = self._follow(home, target.function.value)
        return False

    def merge(self, module: str, expression: Expr, place: Place) -> MergeRule | None:
        """The merge rule an expression means."""
        home, target = self._follow(module, expression)
        if isinstance(target, Call) and isinstance(target.function, Attribute) and target.function.attr == "quorum":
            owner = self._names.resolve_expression(home, target.function.value)
            needed = self.literal(home, target.arguments[0].value) if target.arguments else None
            if owner == f"{_RUNTIME}Merge" and isinstance(needed, int) and not isinstance(needed, bool):
                return MergeRule("quorum", needed, place)
            return None
        if isinstance(target, Attribute):
            owner = self._names.resolve_expression(home, target.value)
            if owner == f"{_RUNTIME}Merge" and target.attr in ("ALL_MUST_SUCCEED", "ALL_SETTLED", "FIRST_SUCCESS"):
                return MergeRule(target.attr.lower(), None, place)
        return None

    def policy(self, module: str, expression: Expr) -> Policy | None:
        """The policy set an expression names; `None` where it names none at all."""
        found = self._constant(module, expression)
        if found is None:
            return None
        qualified, home, statement = found
        place = Place(self._file(home), statement.span)
        call = statement.value
        if not isinstance(call, Call) or self._names.resolve_expression(home, call.function) != f"{_RUNTIME}PolicySet":
            return None
        given = _bound(
            call.arguments,
            ("name", "timeout", "retry", "circuit_breaker", "bulkhead", "compensation_retry"),
        )
        is_starred = any(argument.star for argument in call.arguments)
        label = self.literal(home, given["name"]) if "name" in given else None
        timeout = self.duration(home, given["timeout"]) if "timeout" in given else None
        retry = self._retry(home, given.get("retry"))
        undo_retry = self._retry(home, given.get("compensation_retry"))
        readable = not is_starred and isinstance(label, str) and (timeout is None or isinstance(timeout, timedelta))
        readable = readable and all(
            value is None or (value.attempts is not None and value.backoff is not None) for value in (retry, undo_retry)
        )
        return Policy(
            name=qualified,
            label=label if isinstance(label, str) else "",
            timeout=timeout if isinstance(timeout, timedelta) else None,
            retry=retry,
            compensation_retry=undo_retry,
            kinds=tuple(sorted(given.keys() - {"name"})),
            is_readable=readable,
            place=place,
        )

    def _retry(self, module: str, expression: Expr | None) -> Retry | None:
        if expression is None:
            return None
        home, target = self._follow(module, expression)
        place = Place(self._file(home), target.span)
        if not isinstance(target, Call):
            return Retry(None, None, place)
        given = _bound(target.arguments, ("attempts", "backoff"))
        attempts = self.literal(home, given["attempts"]) if "attempts" in given else None
        backoff = self.backoff(home, given["backoff"]) if "backoff" in given else None
        known = isinstance(attempts, int) and not isinstance(attempts, bool)
        return Retry(attempts if known and isinstance(attempts, int) else None, backoff, place)

    def _timedelta(self, module: str, call: Call) -> timedelta | NotConstant:
        amounts: dict[str, float] = {}
        for name, expression in _bound(call.arguments, _TIMEDELTA_UNITS).items():
            amount = self.literal(module, expression)
            if not isinstance(amount, int | float) or isinstance(amount, bool) or name not in _TIMEDELTA_UNITS:
                return NOT_CONSTANT
            amounts[name] = amount
        if any(argument.star for argument in call.arguments):
            return NOT_CONSTANT
        try:
            return timedelta(**amounts)
        except (OverflowError, ValueError):
            return NOT_CONSTANT

    def _follow(self, module: str, expression: Expr) -> tuple[str, Expr]:
        """One hop: the expression that a named constant was assigned, and its module."""
        found = self._constant(module, expression)
        if found is None:
            return module, expression
        _, home, statement = found
        assert statement.value is not None, "a constant has a value"
        return home, statement.value

    def _constant(self, module: str, expression: Expr) -> tuple[str, str, Assign] | None:
        qualified = self._names.resolve_expression(module, expression)
        if qualified is None:
            return None
        found = self._names.definition(qualified)
        if found is None or not isinstance(found[1], Assign) or found[1].value is None:
            return None
        home, statement = found[0], found[1]
        bindings = self._names.scope(home).bindings[qualified.rpartition(".")[2]]
        # A name assigned twice is not a constant: which value holds would be a guess.
        return (qualified, home, statement) if len(bindings) == 1 else None

    def _file(self, module: str) -> str:
        found = self._sources.module(module)
        return module if found is None else found.file


def _bound(arguments: tuple[Argument, ...], parameters: tuple[str, ...]) -> Mapping[str, Expr]:
    """Arguments by parameter name."""
    given: dict[str, Expr] = {}
    for position, argument in enumerate(arguments):
        if argument.star:
            continue
        if argument.keyword is not None:
            given[argument.keyword] = argument.value
        elif position < len(parameters):
            given[parameters[position]] = argument.value
    return given
