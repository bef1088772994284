"""Keeps the leases of runs that take longer than a lease lasts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final
from uuid import UUID

from flowx_runtime.journal.contract import Journal, JournalUnavailable

_LOG = logging.getLogger("flowx.scheduler")

_SHORTEST_PAUSE: Final = 0.05


class Renewal:
    """Renews, in one statement for all, the leases of runs that are older than a third of their term."""

    def __init__(
        self,
        journal: Journal,
        held: Mapping[UUID, float],
        *,
        owner: str,
        lease_ttl: timedelta,
        on_lost: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._on_lost = on_lost
        self._journal = journal
        self._held = held
        self._owner = owner
        self._lease_ttl = lease_ttl

    async def renew_once(self) -> frozenset[UUID]:
        """Renew what is old enough; gives the instances whose lease was lost all the same."""
        old = time.monotonic() - self._lease_ttl.total_seconds() / 3
        asked = [instance_id for instance_id, since in self._held.items() if since <= old]
        if not asked:
            return frozenset()
        renewed = await self._journal.renew(asked, owner=self._owner, ttl=self._lease_ttl)
        lost = frozenset(instance_id for instance_id in asked if instance_id in self._held) - renewed
        for instance_id in lost:
            _LOG.warning("the lease on instance %s was lost; its run stops at its next commit", instance_id)
        if lost:
            self._on_lost(len(lost))
        return lost

    async def run(self) -> None:
        """Renew until cancelled."""
        while True:
            try:
                await self.renew_once()
            except JournalUnavailable as unavailable:
                _LOG.warning("leases could not be renewed: %s", unavailable)
            except Exception:  # a loop that died would have peers begin again whatever takes longer than a lease
                _LOG.exception("leases could not be renewed; they are tried again")
            await asyncio.sleep(max(self._lease_ttl.total_seconds() / 6, _SHORTEST_PAUSE))
