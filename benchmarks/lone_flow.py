"""What one durable flow of five steps takes beside five bare commits, interleaved in one run.

python benchmarks/lone_flow.py
python benchmarks/lone_flow.py --rounds 2000
FLOWX_DSN=postgresql://… python benchmarks/lone_flow.py
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median, quantiles
from uuid import uuid4

from psycopg import AsyncConnection

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.five_steps import STEPS, host, make_bare_table, run_flow, server, write_bare

WARM_UP = 100
LIMIT = 2.0


async def milliseconds(work: Callable[[], Awaitable[None]]) -> float:
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


async def measure(dsn: str, rounds: int) -> tuple[list[float], list[float], float]:
    schema = f"bench_{uuid4().hex[:8]}"
    bare, flow, cpu = [], [], 0.0
    async with host(dsn, schema) as entered:
        await make_bare_table(dsn, schema)
        async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
            for number in range(rounds + WARM_UP):
                took_bare = await milliseconds(lambda: write_bare(connection, schema))
                cpu_before = time.process_time()
                took_flow = await milliseconds(lambda: run_flow(entered))
                if number >= WARM_UP:
                    bare.append(took_bare)
                    flow.append(took_flow)
                    cpu += time.process_time() - cpu_before
    return bare, flow, cpu * 1000 / rounds


def line(name: str, found: list[float]) -> str:
    return f"{name:<28} p50 {median(found):7.2f} ms   p95 {quantiles(found, n=20)[-1]:7.2f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    rounds = parser.parse_args().rounds
    with server() as dsn:
        bare, flow, cpu = asyncio.run(measure(dsn, rounds))
    print(line(f"{STEPS} bare commits", bare))
    print(line(f"a durable flow of {STEPS} steps", flow), f"  {cpu:.2f} ms of it this process's CPU")
    ratio = median(flow) / median(bare)
    print(f"ratio of the medians {ratio:.2f}, at most {LIMIT:.1f}: {'ok' if ratio <= LIMIT else 'TOO SLOW'}")


if __name__ == "__main__":
    main()
