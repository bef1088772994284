"""A step's turn under a rate limit."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from flowx_runtime.engine.failures import FlowFailure, stored_error
from flowx_runtime.engine.frame import Waits
from flowx_runtime.engine.policies.rate_limit import RateLimited
from flowx_runtime.engine.waits import earliest
from flowx_runtime.journal.records import Wait
from flowx_runtime.plan.nodes import Step

if TYPE_CHECKING:
    from flowx_runtime.engine.walker import Walker

LONGEST_PAUSE: Final = timedelta(seconds=1)
"""A longer gap is not slept through: the instance parks."""


async def wait_for_a_turn(walker: Walker, node: Step, scope: str) -> Waits:
    """Begin no more steps than the rate limit lets through."""
    if node.policy is None or node.policy.rate_limit is None:
        return ()
    session = walker.session
    due = session.recorded_waits.get((scope, node.index))
    if due is not None and walker.clock.now() < due:
        return (Wait(scope, node.index, due),)
    while gap := walker.guards.admit(node.capability, node.policy):
        if gap > LONGEST_PAUSE:
            if session.is_durable:
                return (Wait(scope, node.index, earliest(walker.clock.now() + gap, session.deadline)),)
            refused = RateLimited(
                f"{node.capability.id!r} is at its rate limit: try again in {gap.total_seconds():.0f} s"
            )
            raise FlowFailure(stored_error(refused, (), code=refused.code))
        await walker.pause(gap)
        walker.check_deadline()
    return ()
