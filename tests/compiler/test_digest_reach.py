"""The digest moves with whatever a decision reads, wherever in the project it is written, and not with its looks."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.lower import lower
from tests.compiler.reached_project import PROJECT, edited

CONSTS, MODEL, CAPS, FLOWS = "app.consts", "app.model", "app.caps", "app.flows"
OK = "    ok: bool = True\n"

MOVES = {
    "a constant": (CONSTS, "LIMIT: Final = 100", "LIMIT: Final = 200"),
    "a class attribute": (CONSTS, "DEAR = 500", "DEAR = 600"),
    "a tuple": (CONSTS, '("DE", "FR")', '("DE",)'),
    "a frozenset": (CONSTS, '{"a", "b"}', '{"DE"}'),
    "a constant made of another": (CONSTS, "LIMIT // 2", "LIMIT // 4"),
    "the order of a tuple": (CONSTS, '("x", "y")', '("y", "x")'),
    "a constant that is bound again": (CONSTS, "\n\nclass Lim:", "\nLIMIT = 3\n\n\nclass Lim:"),
    "a constant that a branch binds": (CONSTS, "LIMIT: Final = 100", "if True:\n    LIMIT = 1\nelse:\n    LIMIT = 2"),
    "a constant that another module sets": (FLOWS, "\n\ndef named", "\nc.LIMIT = 3\n\n\ndef named"),
    "a helper of another module": (CONSTS, "edge = 1000", "edge = 10"),
    "a helper of a named predicate": (FLOWS, "return n > 5", "return n > 50"),
    "a named predicate": (FLOWS, "return helper(", "return not helper("),
    "a helper's decorator": (FLOWS, "def helper(", "@wrap\ndef helper("),
    "a helper's default": (CONSTS, "(n: int) -> bool", "(n: int, m: int = 2) -> bool"),
    "a helper's import": (FLOWS, "    return n > 5", "    from app.consts import OTHER\n\n    return n > OTHER"),
    "a property": (MODEL, "self.cents > 700", "self.cents > 7"),
    "a method": (MODEL, "self.cents + self.extra", "self.cents - self.extra"),
    "a property of a base class": (MODEL, "self.number[:3]", "self.number[:4]"),
    "a property that a loop runs over": (MODEL, "return self.items", "return self.items[::-1]"),
    "a property that is set later": (
        MODEL,
        "class Req(",
        "Order.is_dear = property(lambda self: True)\n\n\nclass Req(",
    ),
    "a method that is set by name": (MODEL, "class Req(", "setattr(Order, 'total', lambda self: 0)\n\n\nclass Req("),
    "equality": (MODEL, "    def total(", "    def __eq__(self, o): return True\n\n    def total("),
    "truth": (MODEL, "    def total(", "    def __bool__(self): return False\n\n    def total("),
    "length": (MODEL, "    def total(", "    def __len__(self): return 0\n\n    def total("),
    "a base class that answers": (
        MODEL,
        "class Order(Named):",
        "class Mix(Named):\n    @property\n    def live(self):\n        return ()\n\n\nclass Order(Mix):",
    ),
    "the value of an enumeration": (MODEL, 'RED = "red"', 'RED = "crimson"'),
    "values of an enumeration that change places": (
        MODEL,
        'RED = "red"\n    BLUE = "blue"',
        'RED = "blue"\n    BLUE = "red"',
    ),
    "numbers of an enumeration": (MODEL, "LOW = 1\n    HIGH = 2", "LOW = 2\n    HIGH = 1"),
    "a default that a map leaves out": (MODEL, 'mode: str = "normal"', 'mode: str = "double"'),
    "a default of the input": (MODEL, "extra: int = 0", "extra: int = 5000"),
    "a default of an event": (
        MODEL,
        'class Fin(Contract):\n    ref: str\n    tag: str = "t"',
        'class Fin(Contract):\n    ref: str\n    tag: str = "z"',
    ),
    "a validator in an annotation": (
        CONSTS,
        "def clamp(v: int) -> int:\n    return v",
        "def clamp(v):\n    return v * 2",
    ),
    "a validator of a member": (
        MODEL,
        OK,
        OK + "\n    @field_validator('ref')\n    @classmethod\n    def v(cls, v):\n        return v\n",
    ),
    "a validator of a model": (
        MODEL,
        OK,
        OK + "\n    @model_validator(mode='after')\n    def v(self):\n        return 1\n",
    ),
    "a serializer": (MODEL, OK, OK + "\n    @field_serializer('ref')\n    def s(self, v):\n        return 'x'\n"),
    "a computed member": (
        MODEL,
        OK,
        OK + "\n    @computed_field\n    def both(self) -> str:\n        return self.ref\n",
    ),
    "what runs after validation": (
        MODEL,
        OK,
        OK + "\n    def model_post_init(self, c: Any) -> None:\n        print(c)\n",
    ),
    "an alias it is written under": (
        MODEL,
        "class Paid(Contract):\n    ref: str",
        "class Paid(Contract):\n    ref: str = Field(serialization_alias='R')",
    ),
    "strictness": (MODEL, "class Order(Named):", "class Order(Named):\n    model_config = ConfigDict(strict=True)\n"),
    "letters made small": (
        MODEL,
        "class Order(Named):",
        "class Order(Named):\n    model_config = ConfigDict(str_to_lower=True)\n",
    ),
    "a fallback's value": (CAPS, "Offer(cents=5)", "Offer(cents=500000)"),
    "a policy's time": (CAPS, 'timeout="PT5S"', 'timeout="PT6S"'),
    "attempts": (CAPS, "attempts=3", "attempts=4"),
    "a backoff": (CAPS, '"PT0.2S"', '"PT0.3S"'),
    "an error's category": (MODEL, "Category.CONFLICT", "Category.UNAVAILABLE"),
    "an error's code": (MODEL, 'code="app.bad"', 'code="app.worse"'),
    "an undo that may not be repeated": (
        CAPS,
        '"app.unpay", version="1.0.0", authorization=Internal(), idempotent=True',
        '"app.unpay", version="1.0.0", authorization=Internal(), idempotent=False',
    ),
    "side effects": (CAPS, ', side_effects=("bank",))\nasync def pay', ")\nasync def pay"),
    "a wait": (CONSTS, "timedelta(days=2)", "timedelta(days=3)"),
    "a signal's id": (MODEL, '"app.go"', '"app.went"'),
    "a constant that hides an imported one": (FLOWS, "\n\ndef named", "\nLIMIT = 7\n\n\ndef named"),
}
STAYS = {
    "a comment on a constant": (CONSTS, "LIMIT: Final = 100", "# Cents.\nLIMIT: Final = 1_00  # not euros"),
    "an annotation of a constant": (CONSTS, "LIMIT: Final = 100", "LIMIT: Final[int] = 100"),
    "a constant that nothing reads": (CONSTS, "OTHER: Final = 7", "OTHER: Final = 8"),
    "an attribute that nothing reads": (CONSTS, "CHEAP = 5", "CHEAP = 6"),
    "another place in the module": (CONSTS, "OTHER: Final = 7\n", "def late():\n    return 1\n\n\nOTHER: Final = 7\n"),
    "a local of a helper": (CONSTS, "edge = 1000\n    return n > edge", "most = 1000\n    return n > most"),
    "a parameter of a helper": (
        FLOWS,
        "def helper(n: int) -> bool:\n    return n > 5",
        "def helper(m):\n    return m > 5",
    ),
    "a helper's docstring": (CONSTS, "Says whether it is.", "Whether it is."),
    "the layout of a helper": (CONSTS, "return n > edge", "return (\n        n\n        > edge\n    )"),
    "the layout of a property": (MODEL, "self.cents > 700", "(self.cents  >  700)  # cents"),
    "a docstring of a contract": (MODEL, "class Req(Contract):\n", 'class Req(Contract):\n    """A request."""\n\n'),
    "a method that nothing reads": (MODEL, "        return 1\n", "        return 2\n"),
    "a contract apart": (MODEL, 'mode: str = "x"', 'mode: str = "y"'),
    "another spelling of a default": (MODEL, "extra: int = 0", 'extra: int = Field(default=0, description="More.")'),
    "the order of members": (
        MODEL,
        '    country: str = "DE"\n    extra: int = 0\n',
        '    extra: int = 0\n    country: str = "DE"\n',
    ),
    "a rebuilt model": (MODEL, "class Req(", "Order.model_rebuild()\n\n\nclass Req("),
    "a capability's code": (CAPS, "ref=request.mode", "ref=request.number"),
    "a capability's minor version": (CAPS, '"app.pay", version="1.0.0"', '"app.pay", version="1.1.0"'),
    "an event's minor version": (MODEL, '"app.done", version="1.0.0"', '"app.done", version="1.1.0"'),
    "another spelling of a policy": (CAPS, 'timeout="PT5S"', 'timeout="PT0M5S"'),
    "another spelling of a wait": (CONSTS, "timedelta(days=2)", "timedelta(hours=48)"),
    "how many at a time": (FLOWS, "lambda e: e.step(ship))", "lambda e: e.step(ship), max_concurrency=8)"),
    "a route": (FLOWS, '"/o", idempotent=True', '"/o"'),
    "a message": (MODEL, "It is bad.", "It was bad."),
    "another way to import": (FLOWS, "ctx.input.cents > c.LIMIT", "ctx.input.cents > LIMIT"),
}


def digest(project: Mapping[str, str]) -> str:
    files = [SourceFile(name, f"{name.replace('.', '/')}.py", text.encode()) for name, text in project.items()]
    program = link(Sources.of(files))
    assert program.problems == ()
    return lower(program, program.flows["app.flows.Main"]).digest


@pytest.fixture(scope="module")
def before() -> str:
    return digest(PROJECT)


@pytest.mark.parametrize("edit", MOVES)
def test_it_moves_with(edit: str, before: str) -> None:
    assert digest(edited(*MOVES[edit])) != before


@pytest.mark.parametrize("edit", STAYS)
def test_it_stays_under(edit: str, before: str) -> None:
    assert digest(edited(*STAYS[edit])) == before
