"""Values as the documents that are stored and published, without what must not be read there.

A stored document has a placeholder where a sensitive member was. With a key ring it comes in an envelope that also
holds those members, sealed, by where they belong::

    {"flowx.sealed/1": {"/national_id": "k1:…"}, "value": {"name": "Ada", "national_id": "[redacted]"}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence, Sequence, Set
from itertools import islice
from typing import Annotated, Any, ClassVar, Final, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, RootModel, ValidationError
from pydantic_core import from_json, to_json

from flowx_runtime.authoring.contracts import is_mark
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.engine.codec import decode, encode, encode_plain
from flowx_runtime.engine.comparison import difference
from flowx_runtime.engine.declared import place_in
from flowx_runtime.engine.key_ring import KeyMissing, KeyRing
from flowx_runtime.engine.plain import PlainContracts
from flowx_runtime.engine.redaction import (
    REDACTED,
    Redacted,
    Steps,
    arms,
    marked,
    may_hold_secrets,
    may_hold_secrets_at,
    name_in_document,
)

_SEALED: Final = "flowx.sealed/1"
_VALUE: Final = "value"
_MOST_PLACES: Final = 5

_PLAIN: Final[Mapping[Any, Any]] = {
    Sequence: list,
    MutableSequence: list,
    Set: set,
    Mapping: dict,
    MutableMapping: dict,
}
"""What pydantic makes of an abstract collection."""


VALUE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of the largest document that a host stores, where it is not told otherwise."""


class ValueTooLarge(FlowxError):
    """A value takes more than a host stores of one: keep it elsewhere, and pass its key."""

    code: ClassVar[str] = "flow.value_too_large"


class ValueNotKept(FlowxError):
    """A value would not come back from its document as what it is."""

    code: ClassVar[str] = "flow.value_not_kept"


class ValueUnreadable(FlowxError, ValueError):
    """A stored value does not fit its contract, here and today."""

    code: ClassVar[str] = "instance.unreadable"


_PLAIN_CONTRACTS: Final = PlainContracts()


class Documents:
    """Writes and reads the documents of one host.

    Args:
        key_ring: what seals sensitive members.
        limit: bytes of the largest document.
    """

    def __init__(self, key_ring: KeyRing | None = None, limit: int = VALUE_LIMIT) -> None:
        self._key_ring = key_ring
        self._limit = limit

    def keeps_whole(self, contract: type[Any]) -> bool:
        """Whether all of a value can be read back from its document."""
        return self._key_ring is not None or not may_hold_secrets(contract)

    def stored(self, contract: type[Any], value: object, instance_id: UUID) -> str:
        """The document to keep with an instance; the value comes back from it as what it is.

        Raises:
            ValueNotKept: it would not.
            ValueTooLarge: it is over the limit.
        """
        return self.within_limit(contract.__name__, self._stored(contract, value, instance_id))

    def within_limit(self, what: str, text: str) -> str:
        """A document itself.

        Raises:
            ValueTooLarge: it is over the limit.
        """
        if len(text) * 4 > self._limit:  # no character takes more than four bytes
            size = len(text.encode("utf-8", "surrogatepass"))
            if size > self._limit:
                raise ValueTooLarge(
                    f"this {what} takes {size:,} bytes, and at most {self._limit:,} of one value are stored: keep it "
                    "in a store of its own and pass its key, or raise the host's value_limit"
                )
        return text

    def _stored(self, contract: type[Any], value: object, instance_id: UUID) -> str:
        text = _kept(contract, value)
        if not may_hold_secrets(contract):
            return text
        tree, hidden = _hide(contract, value, text)
        if self._key_ring is None or not hidden:
            return _text({_SEALED: {}, _VALUE: tree} if _is_envelope(tree) else tree)
        sealed = {
            place: self._key_ring.seal(_text(member), _context(instance_id, contract, place))
            for place, member in hidden.items()
            if member != REDACTED
        }
        return _text({_SEALED: sealed, _VALUE: tree})

    def restored(self, contract: type[Any], text: str, instance_id: UUID) -> Any:
        """The value of a stored document; where a member that is no text was redacted, `Redacted` stands for it.

        Raises:
            ValueUnreadable: the document does not fit the contract.
            FlowxError: a sealed member cannot be opened.
        """
        try:
            return self._restored(contract, text, instance_id)
        except FlowxError:
            raise
        except Exception as error:  # validators are the author's code
            raise _unreadable(contract, error) from error

    def _restored(self, contract: type[Any], text: str, instance_id: UUID) -> Any:
        if not may_hold_secrets(contract) or (REDACTED not in text and _SEALED not in text):
            return decode(contract, text)
        tree = from_json(text)
        if _is_envelope(tree):
            sealed, tree = tree[_SEALED], tree[_VALUE]
            for place, member in sealed.items():
                tree = _put(tree, place, from_json(self._open(member, _context(instance_id, contract, place))))
        written = _text(tree)
        return _rebuilt(contract, tree) if REDACTED in written else decode(contract, written)

    @staticmethod
    def is_sealed(text: str) -> bool:
        """Whether a stored document has sealed members."""
        return _SEALED in text and _is_envelope(from_json(text))

    def staged(self, contract: type[Any], value: object) -> str:
        """As `published`, of an event that is to be stored first.

        Raises:
            ValueTooLarge: it is over the limit.
        """
        return self.within_limit(contract.__name__, self.published(contract, value))

    @staticmethod
    def published(contract: type[Any], value: object) -> str:
        """The document that leaves: sensitive members are redacted, with a key ring or without."""
        if not may_hold_secrets(contract):
            return encode(contract, value)
        return _text(_hide(contract, value, encode(contract, value))[0])

    def _open(self, sealed: str, context: str) -> str:
        if self._key_ring is None:
            raise KeyMissing(
                f"a value was sealed with the key {sealed.partition(':')[0]!r} and this host has no key ring: "
                "give it one, `FlowHost(key_ring=KeyRing(…))`"
            )
        return self._key_ring.open(sealed, context)


def shown(text: str) -> str:
    """A stored document as an operator may see it: what is sealed is left out, what it stands for is redacted."""
    if _SEALED not in text:
        return text
    tree = from_json(text)
    return _text(tree[_VALUE]) if _is_envelope(tree) else text


def _kept(contract: type[Any], value: object) -> str:
    """The JSON of a value, from which the value comes back as what it is.

    Raises:
        ValueNotKept: it would not, or cannot be written at all.
    """
    if _PLAIN_CONTRACTS.is_plain(contract, value):
        plain = encode_plain(contract, value)
        if plain is not None:
            return plain
    try:
        text = encode(contract, value)
    except Exception as error:  # serializers are the author's code
        raise ValueNotKept(f"this {contract.__name__} cannot be written as JSON: {_reason(error)}") from error
    try:
        found = _rebuilt(contract, from_json(text)) if REDACTED in text else decode(contract, text)
        place = difference(value, found)
    except Exception as error:  # so are validators, and what compares members
        raise ValueNotKept(
            f"this {contract.__name__} is written as JSON that it does not take back{_at(contract, error)}: "
            "give its members types and names that JSON keeps"
        ) from error
    if place is not None:
        member = f"its member {'.'.join(place_in(contract, place))}" if place else "it"
        raise ValueNotKept(
            f"this {contract.__name__} does not come back from JSON as what it is, {member} would change: "
            "give it a type that JSON keeps, without a validator or serializer that changes what it is given"
        )
    return text


def _unreadable(contract: type[Any], error: Exception) -> ValueUnreadable:
    return ValueUnreadable(f"a stored value is no {contract.__name__} any more{_at(contract, error)}")


def _at(contract: type[Any], error: Exception) -> str:
    """Where a document does not fit, and by which rule: neither is part of it."""
    if not isinstance(error, ValidationError):
        return ""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    places = (f"{'.'.join(place_in(contract, each['loc'])) or 'the value'} ({each['type']})" for each in problems)
    return f", at {', '.join(islice(places, _MOST_PLACES))}"


def _reason(error: Exception) -> str:
    """Why nothing was written. What a serializer of the author's says may hold the value."""
    said = str(error).partition("\n")[0]
    return "a serializer failed" if "calling function" in said else said.rpartition("Error: ")[2]


def _text(tree: Any) -> str:
    return to_json(tree).decode()


def _is_envelope(tree: Any) -> bool:
    return isinstance(tree, dict) and tree.keys() == {_SEALED, _VALUE} and isinstance(tree[_SEALED], dict)


def _context(instance_id: UUID, contract: type[Any], place: str) -> str:
    """What is authenticated with a sealed member: a frozen format.

    The class is named without its module, which may move while an instance waits.
    """
    return f"flowx.sealed/1|{instance_id}|{contract.__qualname__}|{place}"


def _hide(contract: type[Any], value: object, text: str) -> tuple[Any, dict[str, Any]]:
    """The document with placeholders, and what they stand for by place."""
    tree = from_json(text)
    hidden: dict[str, Any] = {}
    for steps, _ in marked(contract, value):
        place = _place(tree, steps)
        if place is None:
            continue
        member = _get(tree, place)
        if member is not None:
            hidden[place] = member
            tree = _put(tree, place, REDACTED)
    return tree, hidden


def _place(tree: Any, steps: Steps) -> str | None:
    """A member's JSON pointer; the nearest thing around it where it was written in a form of its own."""
    place = ""
    for step in steps:
        if isinstance(tree, dict) and isinstance(step, str):
            if step not in tree:
                return None  # it is not written at all
            key = step
        elif isinstance(tree, dict) and isinstance(step, int) and step < len(tree):
            key = list(tree)[step]
        elif isinstance(tree, list) and isinstance(step, int) and step < len(tree):
            place, tree = f"{place}/{step}", tree[step]
            continue
        else:
            return place
        place, tree = f"{place}/{key.replace('~', '~0').replace('/', '~1')}", tree[key]
    return place


def _keys(place: str) -> Iterator[str]:
    return (part.replace("~1", "/").replace("~0", "~") for part in place.split("/")[1:])


def _get(tree: Any, place: str) -> Any:
    for key in _keys(place):
        tree = tree[int(key)] if isinstance(tree, list) else tree[key]
    return tree


def _put(tree: Any, place: str, member: Any) -> Any:
    keys = list(_keys(place))
    if not keys:
        return member
    around = _get(tree, place.rpartition("/")[0])
    around[int(keys[-1]) if isinstance(around, list) else keys[-1]] = member
    return tree


def _has_placeholder(tree: Any) -> bool:
    match tree:
        case str():
            return tree == REDACTED
        case dict():
            return any(_has_placeholder(member) for member in tree.values())
        case list():
            return any(_has_placeholder(member) for member in tree)
        case _:
            return False


def _rebuilt(annotation: Any, tree: Any) -> Any:
    """A value from a document with placeholders in it.

    A model that lacks a member is not validated as a whole: nobody could say whether the rest is valid with it.

    Raises:
        ValueError: the document does not fit.
    """
    if not _has_placeholder(tree):
        return decode(annotation, _text(tree))
    possible = list(arms(annotation))
    if tree == REDACTED:
        kinds = {kind for kind, _ in possible}
        is_marked = any(is_mark(metadata) for _, metadata in possible)
        if is_marked and kinds <= {str, type(None)}:
            return REDACTED
        if is_marked or (may_hold_secrets_at(annotation) and not kinds & {str, Any, object}):
            return Redacted()
    reasons: list[ValueError] = []
    for kind, metadata in possible:
        try:
            return _rebuilt_as(kind, Annotated[kind, *metadata, None], tree)
        except ValueError as error:
            reasons.append(error)
    raise reasons[0]


def _rebuilt_as(kind: Any, annotation: Any, tree: Any) -> Any:
    origin, parameters = _PLAIN.get(get_origin(kind), get_origin(kind)), get_args(kind)
    if (
        isinstance(kind, type)
        and issubclass(kind, BaseModel)
        and (isinstance(tree, dict) or issubclass(kind, RootModel))
    ):
        return _rebuilt_model(kind, tree)
    if origin in (list, tuple, set, frozenset) and isinstance(tree, list):
        is_fixed = origin is tuple and parameters[-1] is not Ellipsis
        members = [_rebuilt(parameters[place if is_fixed else 0], member) for place, member in enumerate(tree)]
        if origin in (set, frozenset) and any(isinstance(member, Redacted) for member in members):
            return Redacted()
        return origin(members)
    if origin is dict and isinstance(tree, dict):
        return {decode(parameters[0], _text(key)): _rebuilt(parameters[1], member) for key, member in tree.items()}
    if isinstance(tree, dict | list) and kind not in (Any, object, dict, list, tuple) and may_hold_secrets_at(kind):
        return Redacted()  # a shape whose members nobody can leave out one by one
    return decode(annotation, _text(tree))


def _rebuilt_model(model: type[BaseModel], tree: Any) -> BaseModel:
    if issubclass(model, RootModel):
        field = model.model_fields["root"]
        return model.model_construct(_rebuilt(Annotated[field.annotation, *field.metadata, None], tree))
    members: dict[str, Any] = {}
    unknown = dict(tree)
    for name, field in model.model_fields.items():
        key = name_in_document(name, field)
        if key in unknown:
            members[name] = _rebuilt(Annotated[field.annotation, *field.metadata, None], unknown.pop(key))
        elif field.is_required():
            raise ValueError(f"{model.__name__} lacks its member {key!r}")
    if unknown and model.model_config.get("extra") == "forbid":
        raise ValueError(f"{model.__name__} has no member {next(iter(unknown))!r}")
    if not any(isinstance(hole, Redacted) for member in members.values() for _, hole in marked(Any, member)):
        try:
            whole: BaseModel = decode(model, _text(tree))
        except ValueError:  # a placeholder that its own rules refuse, a length or a pattern
            pass
        else:
            return whole
    return _constructed(model, members, unknown)


def _constructed(model: type[BaseModel], members: Mapping[str, Any], extra: Mapping[str, Any]) -> BaseModel:
    by_alias = {field.alias or name: members[name] for name, field in model.model_fields.items() if name in members}
    kept = extra if model.model_config.get("extra") == "allow" else {}
    return model.model_construct(**by_alias, **kept)
