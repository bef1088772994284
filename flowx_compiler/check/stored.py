"""Which contracts a journal stores, and whether one survives being written and read back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Place
from flowx_compiler.model import Contract, Flow, Member, Program, TypeExpr
from flowx_compiler.syntax import Assign, Call, Class, Constant, Name

_NOT_DATA = {
    **dict.fromkeys(("typing.Any", "builtins.object"), "says nothing about what it holds"),
    **dict.fromkeys(
        ("typing.Callable", "collections.abc.Callable", "types.FunctionType", "builtins.type"), "is code, not data"
    ),
    **dict.fromkeys(("typing.IO", "typing.TextIO", "typing.BinaryIO", "io.BytesIO", "io.StringIO"), "is an open file"),
    **dict.fromkeys(
        (
            "collections.abc.Iterator",
            "collections.abc.Iterable",
            "collections.abc.Generator",
            "collections.abc.AsyncIterator",
            "typing.Iterator",
            "typing.Iterable",
            "typing.Generator",
        ),
        "can be read once only",
    ),
    **dict.fromkeys(("pydantic.SecretStr", "pydantic.SecretBytes"), "is written as stars and does not come back"),
}
_BARE = frozenset({"builtins.dict", "builtins.list", "builtins.set", "builtins.frozenset", "builtins.tuple"})


@dataclass(frozen=True, slots=True)
class Loss:
    """A member whose value would not come back as it was."""

    contract: str
    member: str
    why: str
    place: Place


def stored_contracts(program: Program, flow: Flow) -> tuple[str, ...]:
    """The contracts that rows of a flow hold, in order: its own, and the inputs and outputs of its children."""
    names = [flow.input.name]
    for construct in constructs(flow.body):
        match construct:
            case model.Step(capability=reference) | model.Poll(capability=reference):
                names.append(reference.capability.result.name)
                if isinstance(construct, model.Poll) and construct.signal is not None:
                    names.append(construct.signal.contract)
            case model.AwaitSignal(signal=signal):
                names.append(signal.contract)
            case model.SubFlow(flow=child, is_detached=is_detached) if child in program.flows:
                names.append(program.flows[child].input.name)
                if not is_detached:
                    names.append(program.flows[child].output.name)
            case _:
                pass
    if flow.output.name != "None":
        names.append(flow.output.name)
    return tuple(name for name in dict.fromkeys(names) if name in program.contracts)


def losses(program: Program, name: str, seen: set[str] | None = None) -> Iterator[Loss]:
    """The members of a contract, and of contracts inside it, that do not survive."""
    seen = set() if seen is None else seen
    contract = program.contracts.get(name)
    if contract is None or name in seen:
        return
    seen.add(name)
    for member in contract.fields:
        why = _why(program, member.type) or _excluded(contract, member)
        if why is not None:
            yield Loss(name, member.name, why, member.place)
        for inner in _contracts_in(program, member.type):
            yield from losses(program, inner, seen)


def _why(program: Program, type_: TypeExpr) -> str | None:
    if type_.name in _NOT_DATA:
        return f"`{type_}` {_NOT_DATA[type_.name]}"
    if type_.name in _BARE and not type_.arguments:
        return f"`{type_}` says nothing about what it holds"
    if type_.name == "|":
        models = [argument for argument in type_.arguments if argument.name in program.contracts]
        if len(models) > 1 and _look_alike(program, models):
            return f"`{type_}` may come back as another class: nothing tells them apart"
    for argument in type_.arguments:
        found = _why(program, argument)
        if found is not None:
            return found
    return None


def _look_alike(program: Program, models: list[TypeExpr]) -> bool:
    """Whether two members of a union have no literal field of the same name to tell them apart."""
    tags = [
        {field.name for field in program.contracts[model_.name].fields if field.type.name == "typing.Literal"}
        for model_ in models
    ]
    if set.intersection(*tags):
        return False
    shapes = [
        {field.name for field in program.contracts[model_.name].fields if not field.has_default} for model_ in models
    ]
    return any(one <= other for number, one in enumerate(shapes) for other in shapes[:number] + shapes[number + 1 :])


def _excluded(contract: Contract, member: Member) -> str | None:
    for value in _values(contract.syntax, member.name):
        if isinstance(value, Call):
            for argument in value.arguments:
                if argument.keyword == "exclude" and isinstance(argument.value, Constant) and argument.value.value:
                    return "it is excluded from what is written"
    return None


def _values(syntax: Class, name: str) -> Iterator[object]:
    for statement in syntax.body:
        match statement:
            case Assign(targets=(Name(id=target),), value=value) if target == name:
                yield value
            case _:
                pass


def _contracts_in(program: Program, type_: TypeExpr) -> Iterator[str]:
    if type_.name in program.contracts:
        yield type_.name
    for argument in type_.arguments:
        yield from _contracts_in(program, argument)
