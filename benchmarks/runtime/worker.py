"""A node in a process of its own.

python -m benchmarks.runtime.worker DSN SCHEMA SECONDS_BETWEEN_LOOKS

It says `ready` with the milliseconds it took to open the journal and enter the host, and then does what it is told:
`usage`, `hold ID` (start a flow whose step lasts while FLOWX_BENCH_HOLD is set), `signal ID`.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from benchmarks.five_steps import Order
from benchmarks.flows import DAY, HELD, HOLD, WAITING, Approved, host_on, resting
from flowx_runtime.journal.postgres.presence import Watching

_ROOT = Path(__file__).parents[2]


class Worker:
    """The other end: starts the process and talks to it."""

    def __init__(self, dsn: str, schema: str, *, looking_around: float = 2.0, holds: bool = False) -> None:
        environment = os.environ | {"PYTHONPATH": str(_ROOT)} | ({HOLD: "yes"} if holds else {})
        since = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.runtime.worker", dsn, schema, str(looking_around)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.ready_ms = float(self.read("ready")[0])
        """From opening the journal until it takes work."""
        self.started_ms = (time.perf_counter() - since) * 1000
        """From the start of the process, with the interpreter and the imports."""

    def tell(self, *words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def read(self, word: str) -> list[str]:
        """The rest of the next line that begins with the word."""
        assert self.process.stdout is not None
        while line := self.process.stdout.readline().split():
            if line[0] == word:
                return line[1:]
        raise RuntimeError(f"the worker ended and did not say {word!r}")

    def usage(self) -> tuple[float, float]:
        """Seconds of CPU so far, and MiB of memory now."""
        self.tell("usage")
        cpu, memory = self.read("usage")
        return float(cpu), float(memory)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def _memory() -> float:
    """MiB that are resident."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize() / 2**20
    except OSError:  # no Linux: the most there ever was
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


async def _work(dsn: str, schema: str, seconds: float) -> None:
    since = time.perf_counter()
    host = await host_on(dsn, schema, WAITING, HELD, resting(DAY))
    host._journal.watching = Watching(interval=timedelta(seconds=seconds))  # type: ignore[union-attr]  # noqa: SLF001
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    runs: list[asyncio.Task[object]] = []
    async with host:
        print("ready", (time.perf_counter() - since) * 1000, flush=True)
        while words := (await reader.readline()).decode().split():
            match words:
                case ["usage"]:
                    print("usage", time.process_time(), _memory(), flush=True)
                case ["hold", name]:
                    order = Order(order_id="o-1", number=1)
                    runs.append(asyncio.create_task(host.run(HELD, order, instance_id=UUID(name))))
                case ["signal", name]:
                    await host.signal(UUID(name), Approved(by="ada"))
                    print("signalled", flush=True)


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1], sys.argv[2], float(sys.argv[3])))
