"""Which contracts a journal stores, and whether one survives being written and read back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Place
from flowx_compiler.model import Contract, Flow, Member, Program, TypeExpr
from flowx_compiler.syntax import Assign, Attribute, Call, Class, Constant, Display, Expr, Name

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
_MAPPINGS = frozenset(
    {
        *("builtins.dict", "typing.Dict", "typing.Mapping", "typing.MutableMapping"),
        *("collections.abc.Mapping", "collections.abc.MutableMapping"),
    }
)
_NO_KEYS = frozenset({"builtins.tuple", "builtins.list", "builtins.frozenset", "typing.Tuple", "typing.FrozenSet"})
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
        why = _why(program, member.type) or _excluded(contract, member) or _renamed(contract, member)
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
    if type_.name in _MAPPINGS and type_.arguments:
        key = type_.arguments[0]
        if key.name in _NO_KEYS or key.name in program.contracts:
            return f"a `{key}` is no key in JSON, whose keys are texts"
    if _has_values_that_are_no_scalars(program, type_.name):
        return f"members of `{type_}` have values that JSON gives back as lists or objects"
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


def _renamed(contract: Contract, member: Member) -> str | None:
    """Why a member is not read under the name it is written under. What only running code can tell is let pass."""
    if _says_by_name(contract.syntax):
        return None
    for value in _values(contract.syntax, member.name):
        if not isinstance(value, Call) or _last_name(value.function) != "Field":
            continue
        given = {argument.keyword: argument.value for argument in value.arguments if argument.keyword is not None}
        alias = given.get("alias")
        written = _text(given.get("serialization_alias", alias), member.name)
        read = _names(given.get("validation_alias", alias), member.name)
        if written is not None and read is not None and written not in read:
            under = f"under {' or '.join(map(repr, read))}" if read else "from inside another member"
            return f"it is written as {written!r} and read {under}"
    return None


def _says_by_name(syntax: Class) -> bool:
    """Whether the configuration lets members be read by their own names, or says what only code can follow."""
    return any(isinstance(value, Call) and value.arguments for value in _values(syntax, "model_config")) or any(
        base.keyword in ("populate_by_name", "validate_by_name", "alias_generator") for base in syntax.bases
    )


def _text(value: Expr | None, otherwise: str) -> str | None:
    if value is None:
        return otherwise
    return value.value if isinstance(value, Constant) and isinstance(value.value, str) else None


def _names(value: Expr | None, otherwise: str) -> tuple[str, ...] | None:
    """The names a member may be read under; `None` where that is not written there."""
    if isinstance(value, Call) and _last_name(value.function) == "AliasPath":
        return ()
    if isinstance(value, Call) and _last_name(value.function) == "AliasChoices":
        choices = [_names(argument.value, otherwise) for argument in value.arguments]
        return None if None in choices else tuple(name for choice in choices for name in choice or ())
    name = _text(value, otherwise)
    return None if name is None else (name,)


def _has_values_that_are_no_scalars(program: Program, name: str) -> bool:
    owner, _, last = name.rpartition(".")
    module = program.modules.get(owner)
    for statement in () if module is None else module.body:
        if isinstance(statement, Class) and statement.name == last:
            bases = [_last_name(base.value) for base in statement.bases if base.keyword is None]
            is_plain = bases == ["Enum"] and all(isinstance(each, Assign) for each in statement.body)
            return is_plain and any(isinstance(each, Assign) and _is_no_scalar(each.value) for each in statement.body)
    return False


def _is_no_scalar(value: object) -> bool:
    return isinstance(value, Display)


def _last_name(expression: Expr) -> str:
    match expression:
        case Name(id=name) | Attribute(attr=name):
            return name
        case _:
            return ""


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
