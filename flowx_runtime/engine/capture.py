"""What one attempt reads from outside, recorded with its own row and nobody else's."""

from __future__ import annotations

import secrets
from datetime import datetime
from random import Random
from uuid import UUID

from flowx_runtime.engine.identity import mint_id
from flowx_runtime.journal.records import Captured


class Capture:
    """The clock reading, minted ids and random seed of one attempt."""

    __slots__ = ("_ids", "_random", "_seed", "utc_now")

    def __init__(self, utc_now: datetime) -> None:
        self.utc_now = utc_now
        self._ids: list[UUID] = []
        self._seed: int | None = None
        self._random: Random | None = None

    @property
    def random(self) -> Random:
        """Seeded when it is first asked for; the seed is recorded."""
        if self._random is None:
            self._seed = secrets.randbits(63)
            self._random = Random(self._seed)
        return self._random

    def new_id(self) -> UUID:
        """A minted id, recorded."""
        minted = mint_id(self.utc_now)
        self._ids.append(minted)
        return minted

    def captured(self) -> Captured:
        """What goes into the row."""
        return Captured(self.utc_now, tuple(self._ids), self._seed)
