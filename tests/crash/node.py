"""One process that works on a scenario. It lives in a fork of a process that has imported everything."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.crash.drive import PATIENCE, drive, host_of
from tests.crash.kill_points import DyingJournal, KillPoint, die_at
from tests.crash.scenarios import IN_TIME, SCENARIOS
from tests.crash.world import Log, World, note_in

OF_THE_DYING = timedelta(milliseconds=250)
"""A lease. Longer than a process works here on the busiest machine, or it would take over from itself; short, because
of a claim that the server carries out when the one who sent it is dead, the peer waits for the end."""

OF_A_PEER = timedelta(seconds=30)


async def live(order: dict[str, Any]) -> None:
    """Work on a scenario until its instances have ended, or until the kill that was ordered."""
    scenario = (SCENARIOS | IN_TIME)[order["scenario"]]
    now = Log.read(Path(order["log"])).now
    note = note_in(order["log"])
    world = World(note, now)
    point = KillPoint(note, order["kill"] and tuple(order["kill"]))
    die_at(point, order["schema"])
    journal = await DyingJournal.open(order["dsn"], schema=order["schema"], migrate=False)
    assert isinstance(journal, DyingJournal)
    journal.point = point
    host = host_of(scenario, journal, world, lease_ttl=OF_A_PEER if order["takes_over"] else OF_THE_DYING)
    async with asyncio.timeout(PATIENCE), host:
        await drive(scenario, host, journal, world, takes_over=order["takes_over"])


def serve() -> None:
    """Fork for every order that comes in, one at a time, and answer with how the child ended."""
    gc.freeze()  # a child that collected would copy every page of this process
    _say("ready")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _be_child(json.loads(line))
        _, status = os.waitpid(child, 0)
        _say(str(os.waitstatus_to_exitcode(status)))


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def _be_child(order: dict[str, Any]) -> None:
    try:
        asyncio.run(live(order))
    except BaseException:
        Path(order["log"] + ".error").write_text(traceback.format_exc())
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    serve()
