"""What a node that starts makes of the schedules it finds. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from flowx_runtime.journal.schedules import ScheduleRow
from flowx_runtime.plan.versions import precedence
from flowx_runtime.scheduler.cron.decisions import Scheduled


@dataclass(frozen=True, slots=True)
class Registration:
    """The rows to write before a node serves its schedules."""

    saved: tuple[ScheduleRow, ...]
    removed: tuple[ScheduleRow, ...]


def registration(
    rows: Collection[ScheduleRow], scheduled: Collection[Scheduled], versions: Mapping[str, str], now: datetime
) -> Registration:
    """Begin what is new at `now`, go on with what is there, and withdraw what a newer version no longer declares.

    What has been withdrawn begins anew when it is declared again, so that it owes nothing for the time between. A row
    that this or a newer version serves is left alone, so that no node takes a schedule from others of its version;
    so is one with something still to start.

    Args:
        rows: all rows of the flows.
        scheduled: the schedules of this node.
        versions: the current version of every flow of this node, with schedules or without.
        now: when the node starts.
    """
    found = {row.key: row for row in rows}
    declared = {each.key for each in scheduled}
    return Registration(
        tuple(_saved(found, scheduled, now)),
        tuple(
            row for row in rows if row.key not in declared and not row.planned and _is_older(row, versions[row.flow_id])
        ),
    )


def _saved(
    found: Mapping[tuple[str, str, str], ScheduleRow], scheduled: Collection[Scheduled], now: datetime
) -> Iterator[ScheduleRow]:
    for each in scheduled:
        row = found.get(each.key)
        if row is None:
            yield ScheduleRow(*each.key, each.version, each.version, considered_until=now)
        elif _is_older(row, each.version):
            yield replace(row, flow_version=each.version)


def _is_older(row: ScheduleRow, version: str) -> bool:
    return precedence(row.flow_version) < precedence(version)
