"""What the answer to a commit means that was sent twice because the first answer was lost."""

from __future__ import annotations

from typing import Final

from flowx_runtime.journal.records import Commit, Committed, History, Refusal, Refused, State

ALSO_OF_A_REPEAT: Final = frozenset({Refusal.DUPLICATE_STEP, Refusal.INSTANCE_TERMINAL, Refusal.SIGNAL_ARRIVED})
"""Refusals that a repeat gets where the first sending was written. The fence is judged before these: whatever stands
in the instance was written under the very token of the commit."""


def answer_to_repeat(commit: Commit, repeated: Refused, history: History) -> Committed | Refused | None:
    """The first sending's answer, as far as the history shows it; `None` where it cannot be told.

    Args:
        commit: what was sent twice.
        repeated: the refusal of the second sending.
        history: the instance as it stands after it.
    """
    keys = {(row.scope, row.step_id, row.attempt) for row in history.rows}
    in_inbox = {delivery.delivery_id for delivery in history.inbox}
    was_written = (
        all((row.scope, row.step_id, row.attempt) in keys for row in commit.rows)
        and in_inbox.isdisjoint(commit.taken_deliveries)
        and commit.state in (None, history.instance.state)
    )
    if repeated.reason is Refusal.SIGNAL_ARRIVED:
        # A park with rows shows whether it was written. If so, the signal came after it, and a sweep goes on.
        if commit.rows:
            return None if was_written else repeated
        return repeated if history.instance.state is not State.SUSPENDED else None
    if not was_written:
        return repeated
    last = history.rows[-1].sequence if history.rows else 0
    return Committed(last, cancel_reason=history.instance.cancel_reason)
