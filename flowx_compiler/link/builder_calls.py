"""The calls a builder knows, what each takes, and a chain of them as a list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from flowx_compiler.findings import Place
from flowx_compiler.link.arguments import Signature
from flowx_compiler.model import Case, Construct, DataFunction, Sequence, TypeExpr
from flowx_compiler.syntax import Attribute, Call, Expr, Name, Span

STEP_DETAILS = ("compensate_with", "with_policy", "named")
CALLS: dict[str, Signature] = {
    "step": Signature(positional=("capability", "request"), required=frozenset({"capability"})),
    "when": Signature(positional=("predicate", "block"), required=frozenset({"predicate", "block"})),
    "switch": Signature(positional=("selector",), required=frozenset({"selector"})),
    "for_each": Signature(
        positional=("selector", "block"),
        keyword=("max_concurrency", "continue_on_error"),
        required=frozenset({"selector", "block"}),
    ),
    "sub_flow": Signature(positional=("flow", "request"), keyword=("mode",), required=frozenset({"flow", "request"})),
    "await_signal": Signature(positional=("signal",), keyword=("timeout",), required=frozenset({"signal", "timeout"})),
    "delay": Signature(positional=("duration",), required=frozenset({"duration"})),
    "poll_until": Signature(
        positional=("capability",),
        keyword=("until", "interval", "timeout"),
        required=frozenset({"capability", "until", "interval", "timeout"}),
    ),
    "emit": Signature(positional=("event", "payload"), required=frozenset({"event", "payload"})),
    "emit_on_failure": Signature(positional=("event", "payload"), required=frozenset({"event", "payload"})),
    "fail": Signature(positional=("error",), required=frozenset({"error"})),
    "returns": Signature(positional=("projection",), required=frozenset({"projection"})),
    "compensate_with": Signature(positional=("capability",), required=frozenset({"capability"})),
    "with_policy": Signature(positional=("policy",), required=frozenset({"policy"})),
    "named": Signature(positional=("label",), required=frozenset({"label"})),
    "otherwise": Signature(positional=("block",), required=frozenset({"block"})),
    "case": Signature(positional=("value", "block"), required=frozenset({"value", "block"})),
    "default": Signature(positional=("block",), required=frozenset({"block"})),
    "or_signal": Signature(positional=("signal",), required=frozenset({"signal"})),
    "on_timeout": Signature(positional=("block",), required=frozenset({"block"})),
}
CALL_NAMES = (*CALLS, "parallel")


@dataclass(frozen=True, slots=True)
class Link:
    """One call of a chain."""

    name: str
    call: Call
    span: Span
    """The method's name."""


@dataclass(slots=True)
class SwitchDraft:
    """A switch whose chain has not ended yet."""

    selector: DataFunction | None
    place: Place
    type: TypeExpr
    """What the selector gives; `?` where it cannot be told."""
    cases: list[Case] = field(default_factory=list)
    default: Sequence | None = None


Open: TypeAlias = Construct | SwitchDraft | str | None
"""What the call before left open on this chain: a construct that may take details, or the name of one that may not."""


def unchain(expression: Expr) -> tuple[list[Link], Expr]:
    """The calls of a chain in order, and what it starts at."""
    links: list[Link] = []
    while isinstance(expression, Call) and isinstance(expression.function, Attribute):
        links.append(Link(expression.function.attr, expression, expression.function.attr_span))
        expression = expression.function.value
    return links[::-1], expression


def root_name(expression: Expr) -> str | None:
    """The name that a dotted expression starts at."""
    while isinstance(expression, Attribute):
        expression = expression.value
    return expression.id if isinstance(expression, Name) else None


def dotted(expression: Expr) -> str:
    """A dotted expression as text."""
    parts = []
    while isinstance(expression, Attribute):
        parts.append(expression.attr)
        expression = expression.value
    return ".".join([*([expression.id] if isinstance(expression, Name) else []), *parts[::-1]])


def snake(name: str) -> str:
    """`awaitSignal` as `await_signal`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
