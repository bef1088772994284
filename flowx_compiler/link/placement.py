"""What may follow what on a chain of builder calls."""

from __future__ import annotations

from typing import NamedTuple

from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.builder_calls import CALL_NAMES, Open, SwitchDraft, snake
from flowx_compiler.model import AwaitSignal, Poll, Step, SubFlow, When


class Misplaced(NamedTuple):
    """A detail that does not belong where it stands."""

    id: str | None
    """`None` where a problem noted before says enough."""
    message: str
    help: str


def misplaced(name: str, before: Open) -> Misplaced | None:
    """What is wrong with a detail after what stands before it; `None` where it belongs there."""
    after = _name_of(before)
    if isinstance(before, str) and _belongs(name, before):
        return Misplaced(None, "", "")  # what stands before was not understood and has been noted
    match name, before:
        case ("compensate_with" | "with_policy" | "named", Step()):
            taken = {"compensate_with": before.compensation, "with_policy": before.policy, "named": before.label}
            if taken[name] is None:
                return None
            id = ids.TWO_POLICIES if name == "with_policy" else ids.STEP_DETAIL_MISPLACED
            return Misplaced(id, f"this step has `{name}` already", "keep one")
        case ("named", SubFlow()):
            if before.label is None:
                return None
            return Misplaced(ids.STEP_DETAIL_MISPLACED, "this sub-flow has a name already", "keep one")
        case ("compensate_with" | "with_policy" | "named", _):
            message = f"`{name}` belongs to a step, and stands after {after}"
            advice = "write it directly after `.step(…)`" + (
                ": nothing in a poll can be undone; put the effect in a step before it"
                if after == "`poll_until`"
                else ""
            )
            return Misplaced(ids.STEP_DETAIL_MISPLACED, message, advice)
        case ("or_signal", Poll()):
            if before.signal is None and before.on_timeout is None:
                return None
            if before.signal is not None:
                message, advice = (
                    "a poll has one `or_signal`, and this one has it already",
                    "keep one `or_signal`",
                )
            else:
                message, advice = "`or_signal` stands after `on_timeout`", "write it before `on_timeout`"
            return Misplaced(ids.OR_SIGNAL_MISPLACED, message, advice)
        case ("or_signal", _):
            message = f"`or_signal` belongs to a poll, and stands after {after}"
            return Misplaced(ids.OR_SIGNAL_MISPLACED, message, "write it directly after `.poll_until(…)`")
        case ("on_timeout", AwaitSignal() | Poll()):
            if before.on_timeout is None:
                return None
            return Misplaced(ids.ON_TIMEOUT_MISPLACED, "this wait has its `on_timeout` already", "keep one")
        case ("on_timeout", _):
            message = f"`on_timeout` belongs to a wait, and stands after {after}"
            advice = "write it directly after `.await_signal(…)`, `.poll_until(…)` or `.or_signal(…)`"
            return Misplaced(ids.ON_TIMEOUT_MISPLACED, message, advice)
        case ("otherwise", When()):
            if before.otherwise is None:
                return None
            return Misplaced(ids.OTHERWISE_MISPLACED, "this `when` has its `otherwise` already", "keep one")
        case ("otherwise", _):
            message = f"`otherwise` belongs to a `when`, and stands after {after}"
            return Misplaced(ids.OTHERWISE_MISPLACED, message, "write it directly after `.when(…)`")
        case (_, SwitchDraft()):
            if before.default is None and (name == "case" or before.cases):
                return None
            message = (
                f"`{name}` stands after the switch's `default`"
                if before.default is not None
                else "a switch starts with a case"
            )
            return Misplaced(ids.CASE_MISPLACED, message, "write cases first, and one `default` last")
        case _:
            message = f"`{name}` belongs to a switch, and stands after {after}"
            return Misplaced(ids.CASE_MISPLACED, message, "write it in the chain of `.switch(…)`")


def _name_of(before: Open) -> str:
    match before:
        case None:
            return "no step (it is the first call of its chain)"
        case str():
            return f"`{before}`"
        case SwitchDraft():
            return "`switch`"
        case Poll():
            return "`poll_until`"
        case AwaitSignal():
            return "`await_signal`"
        case _:
            return f"`{snake(type(before).__name__)}`"


def _belongs(detail: str, construct: str) -> bool:
    """Whether a detail would belong to a construct of that name, had it been understood."""
    owners = {
        **dict.fromkeys(("compensate_with", "with_policy"), ("step",)),
        "named": ("step", "sub_flow"),
        "otherwise": ("when",),
        "case": ("switch",),
        "default": ("switch",),
        "or_signal": ("poll_until",),
        "on_timeout": ("poll_until", "await_signal"),
    }
    return construct in owners.get(detail, ()) or construct not in CALL_NAMES
