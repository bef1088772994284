"""What a host tells the other nodes on its journal, and what it hears from them."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta
from typing import Final

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.engine.clock import Clock
from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.presence import HasPresence, Hint, OnHint, Presence

_LOG = logging.getLogger("flowx.nodes")

_FAR: Final = timedelta(minutes=1)
"""What is parked for longer than this, the sweeps of others find in time by themselves."""

_LAST_WORDS: Final = 5.0
"""Seconds that hints may take on the way out."""


class Peers:
    """The other nodes. Hints gather while one is on its way, so that any number of them costs few statements.

    Args:
        journal: through which nodes hear of each other, if it can.
        owner: this node.
        on_hint: takes what the others say.
        clock: by which waits are recorded.
    """

    def __init__(self, journal: Journal | None, owner: str, *, on_hint: OnHint, clock: Clock) -> None:
        self._presence = journal.presence(owner, on_hint) if isinstance(journal, HasPresence) else None
        self._clock = clock
        self._keeping: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._untold = Hint()

    def appear(self) -> None:
        """Be there for the others, until `leave`."""
        if self._presence is not None:
            self._keeping = asyncio.create_task(self._presence.keep(), name="flowx presence")

    def have_them_look(self) -> None:
        """There may be work for them right now."""
        self._note(Hint(is_ready=True))

    def have_them_expect(self, wake_at: datetime) -> None:
        """Something was parked until then, and this node does not look for it."""
        if wake_at - self._clock.now() < _FAR:
            self._note(Hint(wakes=(wake_at,)))

    def have_them_publish(self) -> None:
        """Events were staged, and this node publishes none."""
        self._note(Hint(has_events=True))

    async def leave(self, *, has_leases: bool) -> None:
        """Say what is still to be said; give back what this node has leased, and be gone."""
        if self._presence is None:
            return
        if self._telling is not None:
            await asyncio.wait([self._telling], timeout=_LAST_WORDS)
            self._telling.cancel()
        keeping, self._keeping = self._keeping, None
        if keeping is not None:  # first, or it would find itself gone and come back
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
        elif not has_leases:
            return
        try:
            freed = await self._presence.leave()
            if freed:
                _LOG.info("gave the leases on %s instances back; other nodes go on with them", freed)
        except FlowxError as unavailable:
            _LOG.warning("this node's leases could not be given back and run out: %s", unavailable)

    def _note(self, hint: Hint) -> None:
        if self._presence is None:
            return
        untold = self._untold
        self._untold = Hint(
            is_ready=untold.is_ready or hint.is_ready,
            wakes=untold.wakes + hint.wakes,
            has_events=untold.has_events or hint.has_events,
        )
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell(self._presence), name="flowx hints")

    async def _tell(self, presence: Presence) -> None:
        while self._untold != Hint():
            hint, self._untold = self._untold, Hint()
            try:
                await presence.tell(hint)
            except FlowxError as unavailable:
                _LOG.debug("a hint was lost; the sweeps of the others find what it was about: %s", unavailable)
