"""Histories that have grown so long that going on with their instances costs what somebody should know of."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final
from uuid import UUID

LONG: Final = 10_000
"""Rows. Going on after a wait, or after a crash, reads them all."""

_LOG = logging.getLogger("flowx.engine")


class LongHistories:
    """Says once of an instance that its history has become long, and counts such instances by flow."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def grown(self, flow_id: str, instance_id: UUID, *, before: int, to: int) -> None:
        """A commit has made a history longer."""
        if before < LONG <= to:
            self.counts[flow_id] += 1
            _LOG.warning(
                "the history of instance %s of %s has passed %s rows, and whoever goes on with it reads them all: "
                "let each part of a long loop be a sub-flow of its own",
                instance_id,
                flow_id,
                f"{LONG:,}",
            )
