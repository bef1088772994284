"""The same work on DBOS, in a process of its own: run by `benchmarks.runtime.dbos_peer`, told what to do on stdin.

DBOS is used as its documentation says: async workflows of async steps, its defaults for everything, its own database
on the same server. This file knows nothing of flowx, so that it runs wherever DBOS is installed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from dbos import DBOS, SetWorkflowID

STEPS = 5
_reached: dict[str, float] = {}


@DBOS.step()
async def count(number: int) -> int:
    return number + 1


@DBOS.workflow()
async def five_steps(number: int) -> int:
    for _ in range(STEPS):
        number = await count(number)
    return number


@DBOS.step()
async def go_on(name: str) -> str:
    _reached[name] = time.perf_counter()
    return name


@DBOS.workflow()
async def waiting(name: str) -> str:
    await DBOS.recv_async("approved", timeout_seconds=86_400)
    return await go_on(name)


@DBOS.workflow()
async def resting(name: str, seconds: float) -> str:
    await DBOS.sleep_async(seconds)
    return await go_on(name)


async def steps(concurrency: int, seconds: float) -> dict[str, float]:
    started, cpu, done = time.perf_counter(), time.process_time(), 0

    async def work() -> None:
        nonlocal done
        while time.perf_counter() - started < seconds:
            await five_steps(1)
            done += 1

    await asyncio.gather(*(work() for _ in range(concurrency)))
    took = time.perf_counter() - started
    return {"steps_per_second": done * STEPS / took, "cpu_ms": (time.process_time() - cpu) * 1000 / max(done, 1)}


async def lone() -> dict[str, float]:
    started = time.perf_counter()
    await five_steps(1)
    return {"ms": (time.perf_counter() - started) * 1000}


async def park(count: int, prefix: str) -> dict[str, float]:
    """Workflows that wait for a message; parked is one whose wait is recorded, which its second row says."""
    started = time.perf_counter()
    left = iter(range(count))

    async def work() -> None:
        for number in left:
            with SetWorkflowID(f"{prefix}{number}"):
                await DBOS.start_workflow_async(waiting, str(number))

    await asyncio.gather(*(work() for _ in range(50)))
    while not await DBOS.list_workflow_steps_async(f"{prefix}{count - 1}"):  # noqa: ASYNC110  nothing tells
        await asyncio.sleep(0.01)
    return {"per_second": count / (time.perf_counter() - started)}


async def signal(name: str) -> dict[str, float]:
    with SetWorkflowID(name):
        handle = await DBOS.start_workflow_async(waiting, name)
    while not await DBOS.list_workflow_steps_async(name):  # noqa: ASYNC110  nothing tells
        await asyncio.sleep(0.002)
    await asyncio.sleep(0.01)
    sent = time.perf_counter()
    await DBOS.send_async(name, "ada", topic="approved")
    await handle.get_result()
    return {"ms": (_reached.pop(name) - sent) * 1000}


async def send(name: str) -> dict[str, float]:
    """A message to a workflow that an earlier process parked; answered when it has ended."""
    sent = time.perf_counter()
    await DBOS.send_async(name, "ada", topic="approved")
    handle: Any = await DBOS.retrieve_workflow_async(name)
    await handle.get_result()
    return {"ms": (time.perf_counter() - sent) * 1000}


async def wake(count: int, prefix: str, seconds: float) -> dict[str, float]:
    """Workflows that sleep until about the same instant; counted from the first that goes on."""
    until = time.time() + seconds
    handles: list[Any] = []
    for number in range(count):
        with SetWorkflowID(f"{prefix}{number}"):
            handles.append(await DBOS.start_workflow_async(resting, f"{prefix}{number}", until - time.time()))
    for handle in handles:
        await handle.get_result()
    ended = time.perf_counter()
    reached = [_reached.pop(f"{prefix}{number}") for number in range(count)]
    return {"per_second": count / max(ended - min(reached), 1e-9)}


COMMANDS: dict[str, Any] = {"steps": steps, "lone": lone, "park": park, "signal": signal, "send": send, "wake": wake}


async def serve(pipe: asyncio.StreamReader) -> None:
    while line := await pipe.readline():
        asked = json.loads(line)
        print(json.dumps(await COMMANDS[asked.pop("do")](**asked)), flush=True)


async def main() -> None:
    DBOS(config={"name": "flowx-bench", "system_database_url": sys.argv[1], "log_level": "CRITICAL"})
    begun = time.perf_counter()
    await asyncio.to_thread(DBOS.launch)
    launched = (time.perf_counter() - begun) * 1000
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print(json.dumps({"launch_ms": launched}), flush=True)
    await serve(reader)


if __name__ == "__main__":
    asyncio.run(main())
