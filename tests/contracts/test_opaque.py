"""What cannot be derived is opaque, in one member where that is possible, and each time with one plain reason."""

from __future__ import annotations

from typing import Any

import pytest

from flowx_compiler.build import analyse
from flowx_compiler.contracts.published import Published
from flowx_compiler.contracts.shape import OPAQUE
from flowx_compiler.link.sources import SourceFile
from tests.contracts.oracle import derived

IMPORTS = """\
from __future__ import annotations
import sys
from enum import Enum, Flag
from typing import Annotated, Any, Callable, Generic, Literal, TypeVar, Union
from pydantic import *
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Json, RootModel, TypeAdapter, WithJsonSchema
from pydantic import field_validator, model_validator
from flowx_runtime import Contract, Sensitive
from elsewhere import Weight, Base, made, decorated, HOOK

T = TypeVar("T")
"""
MEMBERS = {
    "a class of a library": ("member: Weight", "Weight is not part of the project"),
    "inside a list": ("member: list[Weight]", "Weight is not part of the project"),
    "inside a union": ("member: int | Weight | None = None", "Weight is not part of the project"),
    "a name that nothing binds": ("member: Nowhere", "its type is not a name the compiler can follow"),
    "a call": ("member: made()", "its type is made by a call"),
    "a number": ("member: 3", "what stands there is not a type"),
    "a text that is no type": ("member: 'a b'", "what stands there is not a type"),
    "a plain class": ("member: Plain", "Plain is a class that is neither a model nor a record"),
    "an alias of itself": ("member: Document", "the alias Document is made of itself"),
    "a class bound twice": ("member: Twice", "what Twice means is decided when the program runs"),
    "a name bound twice": ("member: Either", "what Either means is decided when the program runs"),
    "a limit by a call": ("member: int = Field(gt=made())", "its `gt` is not a constant number"),
    "a pattern by a call": ("member: str = Field(pattern=made())", "its `pattern` is not a constant text"),
    "a limit that is code": ("member: int | str = Field(gt=3)", "`gt` on this type is checked by code"),
    "limits spread": ("member: Annotated[int, *LIMITS]", "what annotates it is not known to the compiler"),
    "metadata of a library": (
        "member: Annotated[int, Weight()]",
        "Weight, which annotates it, is not part of the project",
    ),
    "a validator before": ("member: Annotated[int, BeforeValidator(int)]", "a validator runs before its type is known"),
    "a schema of its own": ("member: Annotated[int, WithJsonSchema({})]", "it brings its own schema"),
    "JSON in a text": ("member: Json[int]", "it is JSON inside a text"),
    "a function": ("member: Callable[[int], int]", "Callable is not part of the project"),
    "values that code makes": ("member: Made", "code makes the values of Made"),
    "a value that is no constant": ("member: Odd", "the value of Odd.ONE is not a constant"),
    "flags": ("member: Bits", "a base class of Bits is not part of the project, or makes flags"),
    "types without end": ("member: Endless[int]", None),
    "a tag by code": (
        "member: int | str = Field(discriminator=Discriminator(made))",
        "code decides which alternative of it is meant",
    ),
    "a tag that is no literal": (
        "member: Cat | Cow = Field(discriminator='kind')",
        "the values of `kind` that tell its alternatives apart are not all constants",
    ),
}
WHOLE = {
    "a base of a library": ("class Model(Base, BaseModel):\n    a: int", "a base class is not part of the project"),
    "an unknown name on the wire": (
        "class Model(BaseModel):\n    a: int = Field(alias=made())",
        "a: its `alias` is not a constant text",
    ),
    "an unknown default": ("class Model(BaseModel):\n    a: int = made()", "a: a call of unknown effect is its value"),
    "an unknown configuration": (
        "class Model(BaseModel):\n    model_config = made()\n    a: int",
        "its configuration is not written out",
    ),
    "a new key of it": (
        "class Model(BaseModel):\n    model_config = ConfigDict(shape='odd')\n    a: int",
        "`shape` in its configuration is not known to the compiler",
    ),
    "a condition": (
        "class Model(BaseModel):\n    if sys.platform:\n        a: int = 1",
        "it declares members under a condition",
    ),
    "a metaclass": ("class Model(BaseModel, metaclass=made):\n    a: int", "a metaclass makes it"),
    "a decorator": (
        "@decorated\nclass Model(BaseModel):\n    a: int",
        "it is decorated with decorated, which may change it",
    ),
    "a hook by assignment": (
        "class Model(BaseModel):\n    __get_pydantic_core_schema__ = HOOK\n    a: int",
        "it makes its own schema",
    ),
    "a base with members": (
        "class Model(Holder, BaseModel):\n    a: int",
        "its base class Holder, which is no model, has members",
    ),
    "a validator by assignment": (
        "class Model(BaseModel):\n    a: int\n    _check = model_validator(mode='before')(made)",
        "a validator runs before its type is known",
    ),
}
OTHERS = """
class Plain:
    value: int = 1

class Holder:
    held: int

Document = Union[str, list["Document"]]
LIMITS = (Field(gt=1),)

class Twice(BaseModel):
    a: int

if sys.platform == "win32":
    class Twice(BaseModel):
        b: int

Either = int
Either = str

class Made(Enum):
    ONE = 1
    def __init__(self, value): ...

class Odd(Enum):
    ONE = made()

class Bits(Flag):
    ONE = 1

class Endless(BaseModel, Generic[T]):
    next: Endless[list[T]] | None = None

class Cat(BaseModel):
    kind: Literal["cat"]

class Cow(BaseModel):
    kind: str
"""


def model(text: str) -> dict[str, Any]:
    found: dict[str, Any] = derived({"m": f"{IMPORTS}{OTHERS}\n{text}\n"}, ["m.Model"])
    return found


def reasons(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema[OPAQUE]] if OPAQUE in schema else []
        return own + [reason for part in schema.values() for reason in reasons(part)]
    return [reason for part in schema for reason in reasons(part)] if isinstance(schema, list) else []


@pytest.mark.parametrize("name", MEMBERS)
def test_one_member_is(name: str) -> None:
    declaration, reason = MEMBERS[name]
    found = model(f"class Model(BaseModel):\n    kept: int\n    {declaration}")

    assert found["m.Model"]["properties"]["kept"] == {"type": "integer"}
    assert reasons(found) == [reason or "it is given types that hold itself, without end"]


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_contract_is(name: str) -> None:
    declaration, reason = WHOLE[name]

    assert model(declaration)["m.Model"] == {OPAQUE: reason}


def test_a_mark_stays_on_what_is_opaque() -> None:
    found = model("class Model(Contract):\n    a: Sensitive[Weight]\n    b: list[Sensitive[str]] | None = None\n")

    properties = found["m.Model"]["properties"]
    assert properties["a"] == {OPAQUE: "Weight is not part of the project", "sensitive": True}
    assert properties["b"]["sensitive"] is True


@pytest.mark.parametrize(
    "because",
    ["@model_validator(mode='before')\n    def f(cls, data):\n        return data", "b: int = made()"],
)
def test_marks_of_a_contract_that_is_opaque_are_known_all_the_same(because: str) -> None:
    text = f"{IMPORTS}\nclass Model(Contract):\n    a: Sensitive[str]\n    {because}\n"
    published = Published.of(analyse([SourceFile("m", "m.py", text.encode())]).program)

    assert OPAQUE in published.schema("m.Model")
    assert published.marked("m.Model") == ["a"]


def test_a_mark_given_to_a_generic_is_in_that_contract_alone() -> None:
    box = "class Box(BaseModel, Generic[T]):\n    held: T\n"
    found = model(f"{box}\nclass Model(BaseModel):\n    a: Box[Sensitive[str]]\n    b: Box[str]")

    assert found["m.Box[Sensitive-str]"]["properties"]["held"] == {"type": "string", "sensitive": True}
    assert found["m.Box[str]"]["properties"]["held"] == {"type": "string"}


def test_nothing_is_derived_for_a_check_alone() -> None:
    text = "from flowx_runtime import Contract\n\nclass Model(Contract):\n    a: int\n"
    program = analyse([SourceFile("m", "m.py", text.encode())]).program

    assert "m.Model" in program.contracts
    assert not [question for question, _ in program.worked_out if question == "published contracts"]
