"""Cancels an instance and the inline children that it waits for."""

from __future__ import annotations

from uuid import UUID

from flowx_runtime.engine.session import children_waited_for
from flowx_runtime.host.going_on import GoingOn
from flowx_runtime.host.telling import refusal
from flowx_runtime.journal.records import Claimed, History, Refused, State


async def cancel(going_on: GoingOn, instance_id: UUID, reason: str) -> None:
    """Ask an instance to stop and, where nobody works on it, have it go back now; then the children it waits for.

    Raises:
        UnknownInstance: there is none.
        InstanceTerminal: it has ended otherwise.
    """
    answer = await going_on.holding(going_on.journal.request_cancel(instance_id, reason, claim_for=going_on.claimant))
    history = answer.history if isinstance(answer, Claimed) else await going_on.journal.read(instance_id)
    if isinstance(answer, Refused):
        if history is None or history.instance.state is not State.CANCELLED:
            raise refusal(instance_id, answer)
        return
    children = _children(history)
    await _go_back_now(going_on, answer)
    # A parent ends after its children: it may wait for one now that it did not wait for before.
    now = await going_on.journal.read(instance_id)
    for child in dict.fromkeys((*children, *_children(now))):
        await _cancel_child(going_on, child, reason)


async def _cancel_child(going_on: GoingOn, child: UUID, reason: str) -> None:
    """Cancel a child that its parent waited for; the request may be stored already."""
    history = await going_on.journal.read(child)
    if history is None:
        return
    answer = await going_on.holding(going_on.journal.request_cancel(child, reason, claim_for=going_on.claimant))
    if isinstance(answer, Refused):
        return
    await _go_back_now(going_on, answer)
    for grandchild in _children(history):
        await _cancel_child(going_on, grandchild, reason)


async def _go_back_now(going_on: GoingOn, claim: Claimed | None) -> None:
    """Go on with an instance that is to be cancelled, unless somebody works on it, who then meets the request."""
    if claim is None:
        return
    if going_on.can_run(claim):
        await going_on.proceed(claim)
    else:
        await going_on.leave_to_peers(claim)


def _children(history: History | None) -> tuple[UUID, ...]:
    return () if history is None else children_waited_for(history.instance.waits)
