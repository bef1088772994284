"""Why a run does not end, said of every instance that has not."""

from __future__ import annotations

from collections.abc import Collection

from flowx_runtime.testing.ledger import Ledger


def why_not(reason: str, ledger: Ledger, living: Collection[int]) -> str:
    """What waits for what.

    Args:
        reason: why nothing goes on, as a clause.
        ledger: what happened so far.
        living: the hosts that have not been killed.
    """
    lines = [f"{reason[0].upper()}{reason[1:]}."]
    awaits_a_signal = False
    for instance_id in filter(ledger.is_open, ledger.flows):
        lines.append(f"  {ledger.flows[instance_id]} is {ledger.states[instance_id].value}")
        for wait in ledger.waits.get(instance_id, ()):
            awaits_a_signal = awaits_a_signal or wait.signal_id is not None
            ending = f" or signal {wait.signal_id!r}" if wait.signal_id else ""
            lines.append(f"    it waits at {ledger.step_name(instance_id, wait.step_id)} until {wait.wake_at}{ending}")
    under_way = [call for call in ledger.calls if not call.has_answered and call.host in living]
    lines += [f"  {call.capability_id} has not answered since {call.at}" for call in under_way[-5:]]
    if awaits_a_signal:
        lines.append("  A run that waits for a signal goes on with `await run.signal(…)` or `host.signal_at(…)`.")
    return "\n".join(lines)
