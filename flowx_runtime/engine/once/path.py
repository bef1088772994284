"""What a step inside a capability is called: a path of names that its author chose.

    order.place/payment.capture@0/charge_with/charge-card

The flow, the step and its scope; each helper on the way that is passed the context; the label. Nothing in it is a line
or a position, so that editing the code around a call does not move it. Two things have no name. The passes of a loop
have the one that `each` gives them, else a number (`reserve`, `reserve@1`, `reserve@2`). What runs inside a step that
is tried again has the number of the try (`charge`, `charge~1`).
"""

from __future__ import annotations

import inspect
from types import FrameType
from typing import Final

_ENGINE: Final = ("flowx_runtime.engine.", "flowx_runtime.testing.")
"""Packages that call bodies, and are no part of their paths."""
_SEPARATORS: Final = frozenset("/~@\0")


def execution_path(flow_id: str, name: str, scope: str, *, is_undo: bool) -> str:
    """The path of one execution of a capability."""
    return f"{flow_id}/{name}{'.undo' if is_undo else ''}{f'@{scope}' if scope else ''}"


def refuse_label(label: object) -> None:
    """Hold a label to what a path can carry.

    Raises:
        ValueError: it is no text, empty, or has a character that a path uses.
    """
    if not isinstance(label, str) or not label.strip():
        raise ValueError("the label of a step is a text that says what the step does: ctx.once('charge', …)")
    if _SEPARATORS & set(label):
        raise ValueError(
            f"the label {label!r} has one of / ~ @, which separate the parts of a step's path: leave it out"
        )


def of_pass(path: str, which: str) -> str:
    """A path on one pass of a loop: `reserve@tea`, or by number `reserve@1`; the first of those has none."""
    return f"{path}@{which}" if which else path


def retried(path: str, failures: int) -> str:
    """A step's path for what runs inside it, after so many of its attempts have failed."""
    return f"{path}~{failures}" if failures else path


def helpers_between(context: object, *, is_inside_a_step: bool) -> tuple[str, ...]:
    """The functions between the body that runs and the call of `once`, from the outside in, that have the context.

    A function that does not take the context (a wrapper, a library's) is no part of the path: it can come and go
    without anything being called otherwise. The body itself is named by its step already.

    Args:
        context: what such a function has as an argument.
        is_inside_a_step: the body is the callable of a step rather than the capability.
    """
    names: list[str] = []
    frame = inspect.currentframe()
    while frame is not None and _is_engine(frame):
        frame = frame.f_back
    while frame is not None and not _is_engine(frame):
        if _has_argument(frame, context):
            names.append(frame.f_code.co_name)
        frame = frame.f_back
    # A helper that runs in a task of its own is called by no body.
    has_reached_the_body = frame is not None
    if has_reached_the_body and names and not is_inside_a_step:
        names.pop()
    return tuple(name for name in reversed(names) if not name.startswith("<"))


def _is_engine(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_ENGINE)


def _has_argument(frame: FrameType, value: object) -> bool:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    found = frame.f_locals
    return any(found.get(name) is value for name in names)
