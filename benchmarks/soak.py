"""Three workers under load, one of them killed again and again: what is lost, what is stuck, what happens twice.

python benchmarks/soak.py --minutes 3                  # a kill every ten seconds
python benchmarks/soak.py --minutes 1 --kill-every 3 --rate 20
FLOWX_DSN=postgresql://… python benchmarks/soak.py

Ends with 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.soak_flows import EFFECTS, ORDER, TABLES, TICKS, Order, Paid
from flowx_runtime import FlowHost, PostgresJournal
from flowx_runtime.journal.postgres.embedded import EmbeddedServer

ROOT = Path(__file__).parents[1]
WORKERS = 3
REWIND = "20 minutes"
SETTLING = 90.0
"""Seconds in which everything has to end when the load is over."""

LOOK_EVERY = 0.05


@dataclass
class Figures:
    """What came of it. Everything in `broken` is a promise that was not kept."""

    seconds: float = 0.0
    kills: int = 0
    restarts: int = 0
    """Workers that were told to stop, every fourth time."""
    orders: int = 0
    refused_orders: int = 0
    occurrences: int = 0
    effects: int = 0
    events: int = 0
    repeated_effects: int = 0
    """In the documented window: their process was killed before their row was durable."""
    repeated_events: int = 0
    taken_over: int = 0
    takeover_p50: float = 0.0
    takeover_max: float = 0.0
    """Seconds from a kill until a peer had the instances the dead node held."""
    settled_in: float = 0.0
    broken: list[str] = field(default_factory=list)


class Soak:
    """One run, on an empty schema."""

    def __init__(self, dsn: str, schema: str, *, sweep_seconds: float, seed: int) -> None:
        self.dsn = dsn
        self.schema = schema
        self._sweep_seconds = sweep_seconds
        self._random = Random(seed)
        self._workers: dict[str, asyncio.subprocess.Process] = {}
        self._killed: set[int] = set()
        self._orders: dict[UUID, bool] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._takeovers: list[float] = []
        self.figures = Figures()

    def rows(self, query: str, *parameters: Any) -> list[Any]:
        with psycopg.connect(self.dsn, autocommit=True, options=f"-c search_path={self.schema}") as connection:
            cursor = connection.execute(query.encode(), parameters)
            return cursor.fetchall() if cursor.description is not None else []

    async def run(self, seconds: float, kill_every: float, rate: float) -> Figures:
        journal = await PostgresJournal.open(self.dsn, schema=self.schema)
        self.rows(TABLES.format(s=f'"{self.schema}"'))
        starter = FlowHost([ORDER], journal=journal, sweep_interval=None)
        sender = FlowHost((), journal=await PostgresJournal.open(self.dsn, schema=self.schema), sweep_interval=None)
        async with starter, sender:
            for _ in range(WORKERS):
                await self._start_worker()
            began = time.monotonic()
            killing = asyncio.create_task(self._kill(kill_every, times=int(seconds / kill_every)))
            while time.monotonic() - began < seconds or not killing.done():
                self._begin(self._order(starter, sender))
                await asyncio.sleep(self._random.expovariate(rate))
            self.figures.seconds = time.monotonic() - began
            await killing
            await asyncio.gather(*self._tasks)
            await self._settle()
        for process in self._workers.values():
            process.kill()
            await process.wait()
        self._judge()
        return self.figures

    async def _start_worker(self) -> None:
        name = f"worker {uuid4().hex[:8]}"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "benchmarks.soak_flows",
            self.dsn,
            self.schema,
            name,
            str(self._sweep_seconds),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert (await process.stdout.readline()) == b"ready\n"
        self._workers[name] = process

    async def _kill(self, kill_every: float, *, times: int) -> None:
        for _ in range(times):
            await asyncio.sleep(kill_every)
            await asyncio.to_thread(self._rewind_schedules)
            name = self._random.choice(sorted(self._workers))
            process = self._workers.pop(name)
            if (self.figures.kills + self.figures.restarts) % 4 == 3:
                await self._restart(process)
            else:
                process.kill()
                await process.wait()
                self._killed.add(process.pid)
                self.figures.kills += 1
                self._begin(self._watch_takeover(name, time.monotonic()))
            await self._start_worker()

    async def _restart(self, process: asyncio.subprocess.Process) -> None:
        """As in a rolling release: what it had in hand it ends or gives back, and nothing is repeated for it."""
        self.figures.restarts += 1
        process.terminate()
        try:
            async with asyncio.timeout(SETTLING):
                await process.wait()
        except TimeoutError:
            self.figures.broken.append(f"did not stop when it was told to: {process.pid}")
            process.kill()

    def _rewind_schedules(self) -> None:
        """What was fired is considered anew, and must not fire again; what lies before it is owed."""
        self.rows(
            "update flow_schedule set revision = revision + 1, considered_until = "
            f"least(considered_until, date_trunc('minute', now()) - interval '{REWIND}')"
        )

    async def _watch_takeover(self, name: str, killed_at: float) -> None:
        """Until each instance the node had leased has a higher fence, or has ended otherwise."""
        held = await asyncio.to_thread(
            self.rows,
            "select l.instance_id, l.fencing_token from flow_lease l join flow_instance i using (instance_id)"
            " where starts_with(l.owner, %s) and i.state in ('Running', 'Compensating', 'Pending')",
            name,
        )
        while held:
            await asyncio.sleep(LOOK_EVERY)
            fences = dict(
                await asyncio.to_thread(
                    self.rows,
                    "select instance_id, fence from flow_instance where instance_id = any (%s)",
                    [instance_id for instance_id, _ in held],
                )
            )
            for instance_id, token in list(held):
                if fences[instance_id] > token:
                    held.remove((instance_id, token))
                    self._takeovers.append(time.monotonic() - killed_at)

    async def _order(self, starter: FlowHost, sender: FlowHost) -> None:
        number = len(self._orders)
        instance_id = uuid4()
        fails = self._random.random() < 0.25
        self._orders[instance_id] = fails
        await starter.run("soak.order", Order(number=number, fails=fails), instance_id=instance_id)
        await asyncio.sleep(self._random.random() * 0.5)  # before its wait opens, or after
        await sender.signal(instance_id, Paid(amount=1), delivery_id="the one")

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)

    async def _settle(self) -> None:
        began = time.monotonic()
        open_now = "select count(*) from flow_instance where state not in ('Completed', 'Failed')"
        unpublished = "select count(*) from outbox_event where published_at is null"
        owed = "select count(*) from flow_schedule where considered_until < now() - interval '2 minutes'"
        while time.monotonic() - began < SETTLING:
            left = [await asyncio.to_thread(self.rows, query) for query in (open_now, unpublished, owed)]
            if all(count == [(0,)] for count in left):
                break
            await asyncio.sleep(LOOK_EVERY)
        self.figures.settled_in = time.monotonic() - began

    def _judge(self) -> None:
        figures, broken = self.figures, self.figures.broken
        states = dict(self.rows("select instance_id, state from flow_instance where flow_id = 'soak.order'"))
        figures.orders = len(self._orders)
        figures.refused_orders = sum(self._orders.values())
        lost = [each for each in self._orders if each not in states]
        stuck = self.rows("select instance_id, state from flow_instance where state not in ('Completed', 'Failed')")
        broken += [f"lost: {each}" for each in lost] + [f"stuck: {each}" for each in stuck]
        broken += [
            f"ended otherwise: {each} is {states[each]}"
            for each, fails in self._orders.items()
            if each in states and states[each] != ("Failed" if fails else "Completed")
        ]
        self._judge_effects()
        self._judge_events()
        self._judge_occurrences()
        takeovers = sorted(self._takeovers)
        figures.taken_over = len(takeovers)
        if takeovers:
            figures.takeover_p50, figures.takeover_max = takeovers[len(takeovers) // 2], takeovers[-1]

    def _judge_effects(self) -> None:
        figures, broken = self.figures, self.figures.broken
        done: dict[UUID, Counter[str]] = {}
        last: dict[tuple[UUID, str], int] = {}
        for instance_id, what, pid in self.rows("select instance_id, what, pid from effect order by place"):
            figures.effects += 1
            before = last.get((instance_id, what))
            if before is not None:
                figures.repeated_effects += 1
                if before not in self._killed:
                    broken.append(f"repeated though its process lived: {what} of {instance_id}")
            last[instance_id, what] = pid
            done.setdefault(instance_id, Counter())[what] += 1
        for instance_id, fails in self._orders.items():
            if set(done.get(instance_id, ())) != set(EFFECTS[fails]):
                broken.append(f"effects of {instance_id}: {sorted(done.get(instance_id, ()))}")

    def _judge_events(self) -> None:
        figures, broken = self.figures, self.figures.broken
        seen: dict[UUID, dict[int, int]] = {}
        for instance_id, sequence, pid in self.rows("select instance_id, sequence, pid from published order by place"):
            figures.events += 1
            of_instance = seen.setdefault(instance_id, {})
            before = of_instance.get(sequence)
            if before is not None:
                figures.repeated_events += 1
                if before not in self._killed:
                    broken.append(f"published again though its process lived: {sequence} of {instance_id}")
            elif of_instance and sequence < max(of_instance):
                broken.append(f"out of order: {sequence} of {instance_id} after {max(of_instance)}")
            of_instance[sequence] = pid
        for instance_id, fails in self._orders.items():
            if len(seen.get(instance_id, ())) != (2 if fails else 3):
                broken.append(f"events of {instance_id}: {sorted(seen.get(instance_id, ()))}")

    def _judge_occurrences(self) -> None:
        for n in range(TICKS):
            flow_id = f"soak.tick{n}"
            ((count, distinct, first, last),) = self.rows(
                "select count(*), count(distinct at), min(at), max(at) from ("
                "select (input ->> 'occurrence_at')::timestamptz as at from flow_instance where flow_id = %s) o",
                flow_id,
            )
            self.figures.occurrences += count
            expected = 0 if first is None else round((last - first).total_seconds() / 60) + 1
            if not count == distinct == expected or (self.figures.kills and expected < 20):
                self.figures.broken.append(f"occurrences of {flow_id}: {count} of {expected}, {distinct} distinct")
            ticks = self.rows(
                "select count(*) from flow_instance i where flow_id = %s and not exists ("
                "select from effect e where e.instance_id = i.instance_id)",
                flow_id,
            )
            if ticks != [(0,)]:
                self.figures.broken.append(f"{ticks[0][0]} occurrences of {flow_id} had no effect")


@contextmanager
def server() -> Iterator[str]:
    given = os.environ.get("FLOWX_DSN")
    if given:
        yield given
        return
    with EmbeddedServer(settings={"max_connections": "200"}) as running:
        yield running.dsn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--kill-every", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--rate", type=float, default=10.0, metavar="ORDERS", help="a second")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    schema = f"soak_{uuid4().hex[:8]}"
    with server() as dsn:
        soak = Soak(dsn, schema, sweep_seconds=10.0, seed=asked.seed)
        figures = asyncio.run(soak.run(asked.minutes * 60, asked.kill_every, asked.rate))
    for name, value in asdict(figures).items():
        if name != "broken":
            print(f"{name:<18} {value:.2f}" if isinstance(value, float) else f"{name:<18} {value}")
    print("\n".join(figures.broken[:50]) or "every promise was kept")
    raise SystemExit(1 if figures.broken else 0)


if __name__ == "__main__":
    main()
