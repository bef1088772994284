"""Pauses and unpauses on a database, for somebody who may not have the project."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from flowx_cli.database import known_database
from flowx_compiler.errors import UsageProblem
from flowx_runtime import PostgresJournal
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.host.errors import UnknownInstance
from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.pauses import EVERY_FLOW, Pause, said_of_pause
from flowx_runtime.journal.presence import Hint
from flowx_runtime.journal.records import Filter


class NotPaused(FlowxError):
    """There is no such pause to take back."""

    code: ClassVar[str] = "flow.not_paused"


@dataclass(frozen=True, slots=True)
class Paused:
    """What stands still from now on."""

    pause: Pause
    is_new: bool
    is_known: bool
    """Whether the database has anything that it holds."""

    def as_json(self) -> str:
        """One JSON document."""
        return json.dumps({"target": self.pause.target, "reason": self.pause.reason, "new": self.is_new}, indent=2)

    def as_text(self) -> str:
        """A sentence for a person."""
        said = said_of_pause(self.pause)
        if not self.is_new:
            return f"it was paused already: {said}"
        return said if self.is_known else f"{said}\nno instance and no schedule of it is known here: is it spelt right?"


@dataclass(frozen=True, slots=True)
class Unpaused:
    """What may go on, as far as no other pause holds it."""

    target: str
    others: tuple[Pause, ...]

    def as_json(self) -> str:
        """One JSON document."""
        return json.dumps({"target": self.target, "paused": [pause.target for pause in self.others]}, indent=2)

    def as_text(self) -> str:
        """A sentence for a person."""
        what = "everything goes on" if self.target == EVERY_FLOW else f"{self.target} goes on"
        return "\n".join([what, *(f"still, {said_of_pause(pause)}" for pause in self.others)])


def target_of(named: str | None, *, is_all: bool) -> str:
    """What is to be paused or not.

    Raises:
        UsageProblem: neither or both were named.
    """
    if is_all == bool(named) or named in (EVERY_FLOW, ""):
        raise UsageProblem("name a flow or an instance, or give --all for everything")
    if named is not None and not named.isprintable():
        raise UsageProblem(f"{named!a} is neither the id of a flow nor of an instance")
    return EVERY_FLOW if named is None else named.lower() if _instance(named) else named


async def pause(target: str, reason: str, dsn: str | None) -> Paused:
    """Pause something.

    Raises:
        UnknownInstance: it is an instance that is not there.
        UsageProblem: no database is known.
        FlowxError: it cannot be reached, or its schema is not this version's.
    """
    with known_database(dsn) as server:
        journal = await PostgresJournal.open(server, migrate=False)
        try:
            is_known = await _is_known(journal, target)
            is_new = await journal.pause(target, reason)
            found = {each.target: each for each in await journal.pauses()}
            return Paused(found[target], is_new, is_known)
        finally:
            await journal.close()


async def unpause(target: str, dsn: str | None) -> Unpaused:
    """Take a pause back, and have the nodes look.

    Raises:
        NotPaused: there is none.
        UsageProblem: no database is known.
        FlowxError: it cannot be reached, or its schema is not this version's.
    """
    with known_database(dsn) as server:
        journal = await PostgresJournal.open(server, migrate=False)
        try:
            was_paused = await journal.unpause(target)
            others = tuple(await journal.pauses())
            if not was_paused:
                known = ", ".join("--all" if each.target == EVERY_FLOW else each.target for each in others)
                what = "everything" if target == EVERY_FLOW else target
                raise NotPaused(f"{what} is not paused; what is: {known or 'nothing'}")
            with suppress(JournalUnavailable):  # the nodes find out by their sweeps
                await journal.presence("flowx unpause", lambda _: None).tell(Hint(is_ready=True))
            return Unpaused(target, others)
        finally:
            await journal.close()


async def _is_known(journal: PostgresJournal, target: str) -> bool:
    if target == EVERY_FLOW:
        return True
    instance = _instance(target)
    if instance is None:
        return bool(await journal.find(Filter(flow_id=target, limit=1)) or await journal.schedules([target]))
    if await journal.read(instance) is None:
        raise UnknownInstance(f"the journal has no instance {target}")
    return True


def _instance(named: str) -> UUID | None:
    try:
        return UUID(named)
    except ValueError:
        return None
