"""The instances of a database, newest first."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from flowx_cli.database import known_database
from flowx_cli.operate.moments import iso, span
from flowx_cli.operate.waits import wait_document, wait_words
from flowx_runtime import PostgresJournal
from flowx_runtime.journal.pauses import Pause, holds, said_of_pause
from flowx_runtime.journal.records import Filter, InstanceRow
from flowx_runtime.journal.setbacks import Setback

_FLOW_WIDTH = 32
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Listing:
    """Instances, and whether there are more than were asked for."""

    instances: Sequence[InstanceRow]
    has_more: bool
    now: datetime
    setbacks: Mapping[UUID, Setback]
    """Of those that a node could not go on with since their last row."""
    pauses: Sequence[Pause]

    def as_json(self) -> str:
        """One JSON document."""
        return json.dumps(
            {"instances": [self._document(instance) for instance in self.instances], "more": self.has_more}, indent=2
        )

    def lines(self) -> Iterator[str]:
        """A line for each instance, and one below it for what it waits for or failed with."""
        if not self.instances:
            yield "no instance"
            return
        yield f"{'INSTANCE':<36}  {'STATE':<18}  {'FLOW':<{_FLOW_WIDTH}}  SINCE"
        for instance in self.instances:
            named = f"{instance.flow_id}@{instance.flow_version}"
            flow = named if len(named) <= _FLOW_WIDTH else f"{named[: _FLOW_WIDTH - 1]}…"
            since = span(self.now - instance.updated_at)
            yield f"{instance.instance_id}  {instance.state.value:<18}  {flow:<{_FLOW_WIDTH}}  {since}"
            for wait in instance.waits:
                yield f"    waits for {wait_words(wait, self.now)}"
            if instance.error is not None:
                yield f"    error {instance.error.code}"
            setback = self.setbacks.get(instance.instance_id)
            if setback is not None:
                yield f"    cannot go on: {setback.code} (`flowx inspect` says why)"
            if pauses_of(instance, self.pauses):
                yield "    paused"
        if self.has_more:
            yield "there are more: give a higher --limit, or --state and --flow"
        for pause in self.pauses:
            yield from textwrap.wrap(said_of_pause(pause), _WIDTH, break_on_hyphens=False)

    def _document(self, instance: InstanceRow) -> dict[str, Any]:
        setback = self.setbacks.get(instance.instance_id)
        return _document(instance) | {
            "setback": None if setback is None else setback_document(setback),
            "paused": bool(pauses_of(instance, self.pauses)),
        }


async def list_instances(filter: Filter, dsn: str | None) -> Listing:
    """Find instances.

    Raises:
        UsageProblem: no database is known.
        FlowxError: it cannot be reached, or its schema is not this version's.
    """
    with known_database(dsn) as server:
        journal = await PostgresJournal.open(server, migrate=False)
        try:
            asked = Filter(filter.flow_id, filter.flow_version, filter.states, filter.limit + 1)
            found = await journal.find(asked)
            shown = found[: filter.limit]
            setbacks = await journal.setbacks([instance.instance_id for instance in shown])
            by_instance = {setback.instance_id: setback for setback in setbacks}
            return Listing(shown, len(found) > filter.limit, await journal.now(), by_instance, await journal.pauses())
        finally:
            await journal.close()


def pauses_of(instance: InstanceRow, pauses: Sequence[Pause]) -> Sequence[Pause]:
    """The pauses that hold an instance; none for one that has ended."""
    if instance.state.is_terminal:
        return ()
    return [pause for pause in pauses if holds((pause.target,), instance.flow_id, instance.instance_id)]


def setback_document(setback: Setback) -> dict[str, Any]:
    """Why a node could not go on, as JSON."""
    return {
        "code": setback.code,
        "detail": setback.detail,
        "node": setback.node,
        "times": setback.times,
        "at": iso(setback.noted_at),
    }


def _document(instance: InstanceRow) -> dict[str, Any]:
    parent = instance.parent_instance_id
    return {
        "instanceId": str(instance.instance_id),
        "flow": instance.flow_id,
        "version": instance.flow_version,
        "state": instance.state.value,
        "startedAt": iso(instance.created_at),
        "since": iso(instance.updated_at),
        "waitsFor": [wait_document(wait) for wait in instance.waits],
        "error": None if instance.error is None else instance.error.code,
        "parent": None if parent is None else str(parent),
    }
