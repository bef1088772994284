"""Instances that were started and that nobody has begun with."""

from __future__ import annotations

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import Commit, Lease, State


async def leave_unbegun(journal: Journal, lease: Lease) -> None:
    """Give back an instance that was only started; Pending says that none of its steps can be under way."""
    await journal.commit(Commit(lease.instance_id, lease.fencing_token, state=State.PENDING, release_lease=True))
