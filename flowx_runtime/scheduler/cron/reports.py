"""What a node says of its schedules: in counts and in the log."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import datetime, timedelta

from flowx_runtime.authoring.durations import format_duration
from flowx_runtime.journal.schedules import ScheduleRow
from flowx_runtime.scheduler.cron.decisions import Decision

_LOG = logging.getLogger("flowx.schedules")


class Reports:
    """Counts and tells what came of occurrences; nothing that is given up goes unsaid."""

    def __init__(self, catch_up: timedelta) -> None:
        self._catch_up = catch_up
        self._withdrawn: set[tuple[str, str, str]] = set()
        self.counts: Counter[tuple[str, str]] = Counter()
        """By (flow, what): how many occurrences this node noted as `fired`, `skipped` and `lost`."""

    def serving(self, key: tuple[str, str, str], next_at: datetime) -> None:
        """A schedule is served from now on."""
        _LOG.info("serving the schedule %s, next at %s", named(key), next_at)

    def no_longer_declared(self, key: tuple[str, str, str]) -> None:
        """This node has a version of the flow without the schedule."""
        _LOG.info("the schedule %s is no longer declared and was withdrawn", named(key))

    def withdrawn(self, key: tuple[str, str, str]) -> None:
        """A node has such a version; said once."""
        if key not in self._withdrawn:
            self._withdrawn.add(key)
            _LOG.warning(
                "the schedule %s was withdrawn by another version of its flow and does not fire here: if that version "
                "was taken back, restart this node",
                named(key),
            )

    def fired(self, row: ScheduleRow, count: int) -> None:
        """Occurrences have their instances."""
        self.counts[row.flow_id, "fired"] += count

    def decided(self, row: ScheduleRow, decision: Decision) -> None:
        """A decision of this node about a schedule was stored."""
        self.counts[row.flow_id, "skipped"] += decision.skipped
        self.counts[row.flow_id, "lost"] += decision.lost
        since = row.considered_until
        if decision.lost:
            _LOG.warning(
                "the schedule %s lost %s of its occurrences after %s: they were due more than %s ago and no node "
                "served it",
                named(row.key),
                decision.lost,
                since,
                format_duration(self._catch_up),
            )
        if decision.skipped:
            _LOG.warning(
                "the schedule %s skipped %s of its occurrences after %s: missed, as `missed_fire` says",
                named(row.key),
                decision.skipped,
                since,
            )
        if decision.went_back:
            _LOG.warning(
                "the clock was set back by %s; the schedule %s goes on by it, and fires nothing a second time",
                decision.went_back,
                named(row.key),
            )


def named(key: tuple[str, str, str]) -> str:
    """A schedule as people know it."""
    flow_id, cron, time_zone = key
    return f"{cron!r} ({time_zone}) of {flow_id}"
