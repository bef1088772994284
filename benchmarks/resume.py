"""How long it takes to go on behind a loop of 1 000 elements and of 10 000, beside reading as many rows by hand.

    python benchmarks/resume.py
    FLOWX_DSN=postgresql://… python benchmarks/resume.py

A resume that is linear takes ten times as long for ten times the rows. tests/crash/test_resume_is_linear.py counts.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from psycopg import AsyncConnection

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.five_steps import server
from flowx_runtime import PostgresJournal
from tests.crash.drive import host_of, root_of
from tests.crash.long_loops import SHAPES, Make, leave_behind
from tests.crash.world import World

SIZES = (1_000, 10_000)
LIMIT = 20.0
"""Times as long, for ten times the elements. A quadratic resume takes a hundred times as long."""


async def milliseconds(dsn: str, make: Make, elements: int) -> tuple[float, float]:
    """Of a resume to its end, and of reading the rows alone."""
    schema = f"bench_{uuid4().hex[:8]}"
    journal = await PostgresJournal.open(dsn, schema=schema)
    scenario, rows = make(elements)
    await leave_behind(journal, scenario, rows, owner="dead", ttl=timedelta(0))
    async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
        query = f"select scope, step_id, result::text from {schema}.flow_step where instance_id = %s order by sequence"
        begun = time.perf_counter()
        found = await (await connection.execute(query.encode(), [root_of(scenario)])).fetchall()
        read = time.perf_counter() - begun
        assert len(found) == len(rows)
        host = host_of(scenario, journal, World(lambda _: None))
        begun = time.perf_counter()
        assert await host.sweep_once() == 1
        resumed = time.perf_counter() - begun
        await host.close()
        await connection.execute(f"drop schema {schema} cascade".encode())
    return resumed * 1000, read * 1000


async def measure(dsn: str, rounds: int) -> bool:
    is_linear = True
    for name, make in SHAPES.items():
        shortest = []
        for elements in SIZES:
            found = [await milliseconds(dsn, make, elements) for _ in range(rounds)]
            resumed, read = (min(each) for each in zip(*found, strict=True))
            print(f"{name:<22} {elements:>6} elements   {resumed:8.1f} ms   rows alone {read:7.1f} ms")
            shortest.append(resumed)
        ratio = shortest[1] / shortest[0]
        verdict = "ok" if ratio <= LIMIT else "NOT LINEAR"
        print(f"{name:<22} {ratio:.1f} times as long for ten times the elements, at most {LIMIT:.0f}   {verdict}")
        is_linear = is_linear and ratio <= LIMIT
    return is_linear


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with server() as dsn:
        if not asyncio.run(measure(dsn, rounds)):
            raise SystemExit(1)


if __name__ == "__main__":
    main()
