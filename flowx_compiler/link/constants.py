"""What an expression folds to: literals, durations, backoffs, policies, one hop through a module-level constant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from flowx_compiler.findings import Place
from flowx_compiler.link.names import Names
from flowx_compiler.link.sources import Sources
from flowx_compiler.model import Backoff, MergeRule, Policy, Retry, Value
from flowx_compiler.syntax import (
    Argument,
    Assign,
    Attribute,
    Call,
    Class,
    Compound,
    Constant,
    Display,
    Expr,
    Function,
    Name,
    Operation,
    Subscript,
)
from flowx_runtime.plan import InvalidDuration, parse_duration


class NotConstant:
    """The answer where an expression is not a constant."""


NOT_CONSTANT: Final = NotConstant()
_TIMEDELTA_UNITS = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")
_NUMBERS = frozenset({"builtins.int", "builtins.float", "builtins.bool", "builtins.len", "builtins.round"})
_RUNTIME = "flowx_runtime."
_DEFAULT_CEILING = timedelta(days=1)
_MOST_HOPS = 8
"""A constant that names itself, by whatever road, folds to nothing."""


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

    def named(self, module: str, expression: Expr) -> str | None:
        """The qualified name of what a dotted expression names, through `other = name` at module level."""
        qualified = self._names.resolve_expression(module, expression)
        for _ in range(_MOST_HOPS):
            found = self._constant(module, expression)
            if found is None or not isinstance(found[2].value, Name | Attribute):
                return qualified
            module, expression = found[1], found[2].value
            qualified = self._names.resolve_expression(module, expression)
        return None

    def literal(self, module: str, expression: Expr, *, hops: int = 0) -> object:
        """A literal, tuple of literals, enum member (`("enum", class, member)`) or constant of those."""
        match expression:
            case Constant(value=value):
                return value
            case Display(kind="tuple" | "list", items=items):
                values = tuple(self.literal(module, item, hops=hops) for item in items)
                return NOT_CONSTANT if NOT_CONSTANT in values else values
            case _:
                pass
        home, target = self.follow(module, expression)
        if target is not expression:
            return NOT_CONSTANT if hops == _MOST_HOPS else self.literal(home, target, hops=hops + 1)
        if isinstance(expression, Attribute):
            owner = self._names.resolve_expression(module, expression.value)
            if owner is not None:
                return ("enum", owner, expression.attr)
        return NOT_CONSTANT

    def duration(self, module: str, expression: Expr) -> timedelta | NotConstant | InvalidDuration:
        """The duration an expression means; an `InvalidDuration` where its text is of another form."""
        home, target = self.follow(module, expression)
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

    def may_be(self, module: str, expression: Expr, *, kinds: tuple[str, ...], hops: int = 0) -> bool:
        """Whether an expression that does not fold may still give a value of some class at run time.

        It cannot if it is a value of another kind, a class, a function, or the call of a class that is not one of
        `kinds` (qualified names); a library's function, a method or a name of unknown origin can.
        """
        home, target = self.follow(module, expression)
        match target:
            case Operation(kind="binary", operands=operands):
                return not all(self._is_number(home, operand) for operand in operands)
            case Operation(kind=kind, operands=operands):
                return kind in ("conditional", "and", "or") and (
                    hops == _MOST_HOPS
                    or any(self.may_be(home, operand, kinds=kinds, hops=hops + 1) for operand in operands)
                )
            case Compound(kind=kind):
                return kind == "f_string" and "builtins.str" in kinds
            case Constant(value=value):
                return f"builtins.{type(value).__name__}" in kinds
            case Name() | Attribute():
                return self._may_name(home, target)
            case Call(function=function):
                return self._may_give(home, function, kinds)
            case Subscript():
                return True
            case _:
                return False

    def _is_number(self, module: str, expression: Expr) -> bool:
        if isinstance(expression, Operation):
            return all(self._is_number(module, operand) for operand in expression.operands)
        return isinstance(self.literal(module, expression), int | float)

    def _may_name(self, module: str, expression: Expr) -> bool:
        qualified = self._names.resolve_expression(module, expression)
        if qualified is None:
            return True
        found = self._names.definition(qualified)
        is_definition = found is not None and isinstance(found[1], Class | Function)
        return not is_definition and not qualified.startswith((_RUNTIME, "builtins."))

    def _may_give(self, module: str, function: Expr, kinds: tuple[str, ...]) -> bool:
        qualified = self._names.resolve_expression(module, function)
        if qualified is None:
            return True
        if any(qualified == kind or qualified.startswith(f"{kind}.") for kind in kinds):
            return True
        found = self._names.definition(qualified)
        is_class = found is not None and isinstance(found[1], Class)
        return not is_class and qualified not in _NUMBERS and not qualified.startswith((_RUNTIME, "datetime."))

    def backoff(self, module: str, expression: Expr, *, hops: int = 0) -> Backoff | None:
        """The backoff an expression means."""
        home, target = self.follow(module, expression)
        if not isinstance(target, Call) or not isinstance(target.function, Attribute) or hops > _MOST_HOPS:
            return None
        if target.function.attr == "max_attempts":
            inner = self.backoff(home, target.function.value, hops=hops + 1)
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

    def merge(self, module: str, expression: Expr, place: Place) -> MergeRule | None:
        """The merge rule an expression means."""
        home, target = self.follow(module, expression)
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
            (
                *(
                    "name",
                    "timeout",
                    "retry",
                    "circuit_breaker",
                    "bulkhead",
                    "fallback",
                    "hedge",
                    "rate_limit",
                    "cache",
                ),
                "compensation_retry",
            ),
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
            fallback_type=self._fallback_type(home, given.get("fallback")),
            is_readable=readable,
            place=place,
        )

    def _fallback_type(self, module: str, expression: Expr | None) -> str | None:
        """The class of `Fallback(value=Contract(…))`."""
        if expression is None:
            return None
        home, target = self.follow(module, expression)
        if not isinstance(target, Call):
            return None
        value = _bound(target.arguments, ("value", "capability")).get("value")
        if value is None:
            return None
        home, value = self.follow(home, value)
        return self._names.resolve_expression(home, value.function) if isinstance(value, Call) else None

    def _retry(self, module: str, expression: Expr | None) -> Retry | None:
        if expression is None:
            return None
        home, target = self.follow(module, expression)
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

    def follow(self, module: str, expression: Expr) -> tuple[str, Expr]:
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
        if found is None:
            return self._class_constant(qualified)
        if not isinstance(found[1], Assign) or found[1].value is None:
            return None
        home, statement = found[0], found[1]
        bindings = self._names.scope(home).bindings[qualified.rpartition(".")[2]]
        # A name assigned twice is not a constant: which value holds would be a guess.
        return (qualified, home, statement) if len(bindings) == 1 else None

    def _class_constant(self, qualified: str) -> tuple[str, str, Assign] | None:
        """A constant in the body of a class without bases (an enumeration's member is not its value)."""
        owner, _, name = qualified.rpartition(".")
        found = self._names.definition(owner)
        if found is None or not isinstance(found[1], Class) or found[1].bases:
            return None
        assigned = [
            statement
            for statement in found[1].body
            if isinstance(statement, Assign)
            and any(isinstance(target, Name) and target.id == name for target in statement.targets)
        ]
        if len(assigned) != 1 or assigned[0].value is None:
            return None
        return qualified, found[0], assigned[0]

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
