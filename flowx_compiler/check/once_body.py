"""A body that has steps, and which of them one pass through it can come to.

A *body* is one function, or the callable of a step: what runs as a unit. Two of its steps can both run unless they are
in exclusive arms of one `if`, `match` or conditional expression, or one of them is in an arm that leaves the body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from flowx_compiler.findings import Place
from flowx_compiler.syntax import (
    Call,
    Expr,
    Function,
    Lambda,
)

AFTER = -1
"""The index of what follows a choice."""


@dataclass(frozen=True, slots=True)
class Arm:
    """Which way a body went at one choice."""

    choice: int
    """Identifies the `if`, `match` or conditional expression."""
    index: int
    """The arm; `-1` for what follows the choice."""
    leaves: bool = False
    """Whether the arm ends in `return` or `raise`, so that nothing after the choice runs."""


@dataclass(frozen=True, slots=True)
class OnceStep:
    """One place where a body has a step, or calls a helper that has some."""

    kind: str
    """`"once"`, `"durable"` or `"helper"`."""
    name: str | None
    """The label, `Port.method`, or the helper's name; `None` for a label that is no literal."""
    call: Call
    place: Place
    arms: tuple[Arm, ...]
    how: str
    """`"awaited"`, `"given on"` (to `gather`, say), `"dropped"`, or `"unnumbered"` (in a lambda or comprehension)."""
    target: Function | None = None
    """The helper."""
    passes: str = ""
    """In a loop, `"every"` where each of its passes comes here, in an order that another attempt has again; `"some"`
    where one may not. Empty outside of loops."""

    @property
    def identity(self) -> object:
        """What its record is found by in its body."""
        return self.name if self.target is None else id(self.target)

    @property
    def work(self) -> Expr | None:
        """What a `once` is given to call."""
        positional = [argument for argument in self.call.arguments if argument.keyword is None]
        return positional[1].value if len(positional) > 1 else None

    def argument(self, keyword: str) -> Expr | None:
        """A keyword argument's value."""
        return next((item.value for item in self.call.arguments if item.keyword == keyword), None)


@dataclass(frozen=True, slots=True)
class Body:
    """One function, or the callable of a step, that has steps."""

    module: str
    file: str
    syntax: Function | Lambda
    context: str
    """What the context is called in it."""
    steps: tuple[OnceStep, ...]
    own: tuple[Expr, ...] = field(repr=False)
    """Every awaited call of the body itself that is no step, outside the callables of steps."""


def can_both_run(one: OnceStep, other: OnceStep) -> bool:
    """Whether one pass through their body can come to both."""
    arms = {arm.choice: arm for arm in one.arms}
    for arm in other.arms:
        mine = arms.get(arm.choice)
        if mine is None or mine.index == arm.index:
            continue
        if AFTER not in (mine.index, arm.index) or mine.leaves or arm.leaves:
            return False
    return True


def collisions(body: Body, kind: str) -> Iterator[tuple[OnceStep, OnceStep]]:
    """Each step of a kind that has the identity of an earlier one, which can run as well; the earlier one first."""
    of_kind = [step for step in body.steps if step.kind == kind and step.name is not None]
    for position, step in enumerate(of_kind):
        same = (other for other in of_kind[:position] if other.identity == step.identity and can_both_run(other, step))
        first = next(same, None)
        if first is not None:
            yield first, step
