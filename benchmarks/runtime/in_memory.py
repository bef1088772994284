"""What needs no database: the cost of an ephemeral step, and of importing the runtime."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.five_steps import count
from benchmarks.flows import ORDER, ephemeral
from benchmarks.runtime.figure import Figure, at_most, beside
from benchmarks.runtime.sizes import Size
from flowx_runtime import FlowHost

STEPS: Final = 200
STEP_LIMIT: Final = 3.0
IMPORT_LIMIT: Final = 150
_ROOT: Final = Path(__file__).parents[2]
_SERVICE: Final = "from flowx_runtime import Contract, Flow, FlowBuilder, FlowHost, PostgresJournal, capability"
_FORBIDDEN: Final = ("libcst", "click")


async def measure_steps(size: Size) -> list[Figure]:
    """A flow of many steps, less what the same calls take in a plain loop; in turns."""
    plan = ephemeral(STEPS)
    flows, calls = [], []
    async with FlowHost([plan], [count]) as host:
        for _ in range(size.passes):
            since = time.perf_counter()
            await host.run(plan, ORDER)
            flows.append((time.perf_counter() - since) * 1e6 / STEPS)
            since, value = time.perf_counter(), ORDER
            for _ in range(STEPS):
                value = await count(value, None)  # type: ignore[arg-type]
            calls.append((time.perf_counter() - since) * 1e6 / STEPS)
    over = [flow - call for flow, call in zip(flows, calls, strict=True)]
    return [
        at_most(
            "overhead of an ephemeral step",
            median(over),
            STEP_LIMIT,
            "us",
            beside=(beside("the call alone", flows, calls),),
            note=f"least {min(over):.1f} us",
        )
    ]


def measure_import(size: Size) -> list[Figure]:
    """A bare interpreter, and one that imports the runtime; in turns."""
    environment = os.environ | {"PYTHONPATH": str(_ROOT)}

    def milliseconds(program: str) -> float:
        since = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], env=environment, check=True)
        return (time.perf_counter() - since) * 1000

    milliseconds("import flowx_runtime")  # compiled by now
    milliseconds(_SERVICE)
    bare, imported, used = [], [], []
    for _ in range(size.imports):
        bare.append(milliseconds("pass"))
        imported.append(milliseconds("import flowx_runtime"))
        used.append(milliseconds(_SERVICE))
    looks = f"import sys, flowx_runtime; print([name for name in {_FORBIDDEN} if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", looks], env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()
    over = [ours - theirs for ours, theirs in zip(imported, bare, strict=True)]
    names = "neither libcst nor click" if found == "[]" else f"with {found}"
    reference = beside("a bare interpreter", imported, bare)
    return [
        at_most("`import flowx_runtime`", median(over), IMPORT_LIMIT, "ms", beside=(reference,), note=names),
        # Its names are loaded when they are used: what a service uses brings pydantic and psycopg.
        Figure("importing what a service uses of it", median(used) - median(bare), "ms"),
    ]
