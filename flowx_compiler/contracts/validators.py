"""Which members and models code judges or writes, so that their types alone do not say what they are on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flowx_compiler.contracts.constants import constant
from flowx_compiler.contracts.where import Where
from flowx_compiler.syntax import Argument, Call, Expr, Function

_BEFORE = "a validator runs before its type is known"
_WRITTEN = "code decides how it is written"
_PER_MEMBER = frozenset({"field_validator", "field_serializer", "validator"})
_WHOLE = frozenset({"model_validator", "model_serializer", "root_validator"})


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What validators and serializers leave of a model's schema."""

    members: Mapping[str, str] = field(default_factory=dict)
    """Why a member is opaque; `"*"` is every member."""
    whole: str = ""
    """Why the model is."""

    def also(self, other: Verdicts) -> Verdicts:
        """Both."""
        return Verdicts({**other.members, **self.members}, self.whole or other.whole)

    def of(self, member: str) -> str:
        """Why a member is opaque; empty if it is not."""
        return self.members.get(member) or self.members.get("*", "")


NO_VERDICTS = Verdicts()


def judged_function(function: Function, where: Where) -> Verdicts:
    """What the decorators of a method say."""
    found = Verdicts()
    for decorator in function.decorators:
        found = found.also(_judged(decorator, where))
    return found


def judged_assignment(value: Expr | None, where: Where) -> Verdicts:
    """What `_check = field_validator("name")(function)` says."""
    return _judged(value.function, where) if isinstance(value, Call) else Verdicts()


def _judged(decorator: Expr, where: Where) -> Verdicts:
    call = decorator if isinstance(decorator, Call) else None
    qualified = where.qualified(decorator if call is None else call.function) or ""
    name = qualified.rpartition(".")[2]
    if not qualified.startswith("pydantic.") or name not in _PER_MEMBER | _WHOLE:
        return Verdicts()
    arguments = () if call is None else call.arguments
    reason = _reason(name, arguments, where)
    if not reason or name in _WHOLE:
        return Verdicts(whole=reason)
    members = [constant(argument.value, where) for argument in arguments if argument.keyword is None]
    if not all(isinstance(member, str) for member in members) or any(argument.star for argument in arguments):
        return Verdicts({"*": reason})
    return Verdicts(dict.fromkeys((member for member in members if isinstance(member, str)), reason))


def _reason(name: str, arguments: tuple[Argument, ...], where: Where) -> str:
    if "serializer" in name:
        return _WRITTEN
    given = {argument.keyword: constant(argument.value, where) for argument in arguments}
    if name in ("validator", "root_validator"):
        return _BEFORE if given.get("pre") else ""
    # A validator that runs after the type was checked can only refuse more.
    return "" if given.get("mode", "after") == "after" else _BEFORE
