"""Everything the runtime is held to, measured in one run beside what else does the same on the same server.

    python -m benchmarks                  # about ten minutes
    python -m benchmarks --quick          # under two
    python -m benchmarks --only steps,waking --json
    FLOWX_DSN=postgresql://… python -m benchmarks

The server is an embedded one whose every commit reaches the disk, unless `FLOWX_DSN` names another. DBOS is measured
beside flowx where it is installed, or where `FLOWX_BENCH_DBOS` names the interpreter of an environment that has it.
What is measured and its references take turns, because a machine is never as fast twice: compare the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.five_steps import server
from benchmarks.runtime import dbos_peer, idle, in_memory, parking, restart, signals, steps, takeover, waking
from benchmarks.runtime.figure import Figure
from benchmarks.runtime.machine import machine
from benchmarks.runtime.sizes import FULL, QUICK, TINY, Size
from benchmarks.runtime.table import markdown, table

Part = Callable[[str, Size, "dbos_peer.Dbos | None"], Awaitable[list[Figure]]]


async def _import(_dsn: str, size: Size, _dbos: Any) -> list[Figure]:
    return await asyncio.to_thread(in_memory.measure_import, size)


PARTS: dict[str, Part] = {
    "steps": steps.measure,
    "lone": steps.measure_lone,
    "signals": signals.measure,
    "parking": parking.measure,
    "restart": restart.measure,
    "lateness": lambda dsn, size, _: waking.measure_lateness(dsn, size),
    "takeover": lambda dsn, size, _: takeover.measure(dsn, size),
    "queries": lambda dsn, size, _: idle.measure_queries(dsn, size),
    "ephemeral": lambda _dsn, size, _dbos: in_memory.measure_steps(size),
    "import": _import,
}


async def measure(names: list[str], size: Size, *, with_peer: bool = True) -> tuple[list[Figure], dict[str, str]]:
    """The figures of some parts, and what they were measured on."""
    figures: list[Figure] = []
    python = dbos_peer.interpreter() if with_peer else None
    with server() as dsn:
        about = machine(dsn) | ({"DBOS": dbos_peer.version(python)} if python else {})
        for name in names:
            print(f"… {name}", file=sys.stderr)
            # A fresh peer for each part: what an earlier one parked there must not slow it down.
            with dbos_peer.running(dsn, python) as dbos:
                figures += await PARTS[name](dsn, size, dbos)
    return figures, about


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer of everything; 10 000 parked instead of 100 000")
    parser.add_argument("--tiny", action="store_true", help="only to see that everything runs")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--markdown", action="store_true", help="print them as a table of a page")
    parser.add_argument("--only", help=f"parts, comma-separated: {', '.join(PARTS)}")
    parser.add_argument("--no-peer", action="store_true", help="measure nothing beside DBOS")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: choose from {', '.join(PARTS)}")
    size = TINY if given.tiny else QUICK if given.quick else FULL
    figures, about = asyncio.run(measure(names, size, with_peer=not given.no_peer))
    if given.json:
        print(json.dumps({"about": about, "figures": [asdict(figure) for figure in figures]}, indent=2))
    else:
        print(markdown(figures) if given.markdown else table(figures))
        print("\n" + "\n".join(f"{name}: {value}" for name, value in about.items()))
        if "DBOS" not in about and not given.no_peer:
            print(dbos_peer.HOW_TO)
    if any(figure.is_held is False for figure in figures):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
