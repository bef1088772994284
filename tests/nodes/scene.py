"""Flows for several nodes on one database, and a program that is one such node.

python -m tests.nodes.scene DSN SCHEMA SETTINGS
"""

from __future__ import annotations

import asyncio
import json
import os
import signal as signals
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, ClassVar, Final
from uuid import UUID, uuid4

import psycopg

from flowx_runtime import Contract, FlowHost, Internal, PostgresJournal, Profile, StepContext, capability, event, signal
from flowx_runtime.journal.postgres.presence import Watching
from flowx_runtime.journal.records import Delivery, State
from flowx_runtime.plan import FORMAT, AwaitSignal, CapabilityUse, Delay, Emit, EventUse, Plan, SignalUse, Step, SubFlow

DAY: Final = timedelta(days=1)
NEVER: Final = timedelta(days=1)
"""A sweep's interval: whatever happens within a test, this sweep had nothing to do with it."""

QUICK: Final = Watching(interval=timedelta(seconds=0.1), grace=timedelta(seconds=0.3))
PATIENCE: Final = 30.0
"""Seconds until a test that waits for something says that it did not come."""

EFFECTS: Final = "create table if not exists {s}.effect (instance_id uuid, what text, pid integer, place serial)"


class Order(Contract):
    name: str


class Done(Contract):
    text: str


@signal("work.approved")
class Approved(Contract):
    by: str


@event("work.told", version="1.0.0")
class Told(Contract):
    name: str


_dsn = ""
_schema = ""


def note(instance_id: UUID, what: str) -> None:
    """An effect outside, which no rollback takes back."""
    with psycopg.connect(_dsn, autocommit=True) as connection:
        statement = f'insert into "{_schema}".effect values (%s, %s, %s)'
        connection.execute(statement.encode(), [instance_id, what, os.getpid()])


@capability("work.first", version="1.0.0", authorization=Internal(), idempotent=True)
async def first(request: Order, ctx: StepContext) -> Done:
    note(ctx.instance_id, "first")
    return Done(text="")


@capability("work.last", version="1.0.0", authorization=Internal(), idempotent=True)
async def last(request: Order, ctx: StepContext) -> Done:
    note(ctx.instance_id, "last")
    return Done(text="")


@capability("work.undo", version="1.0.0", authorization=Internal(), idempotent=True)
async def undo(request: Order, ctx: StepContext) -> None:
    note(ctx.instance_id, "undo")


@capability("work.hang", version="1.0.0", authorization=Internal(), idempotent=True)
async def hang(request: Order, ctx: StepContext) -> Done:
    """Lasts for as long as its process is one that is to hang."""
    note(ctx.instance_id, "hang")
    while os.environ.get("HANGS"):  # noqa: ASYNC110  a test says so from another task or for another process
        await asyncio.sleep(0.05)
    return Done(text="")


CAPABILITIES: Final = (first, last, undo, hang)
FIRST: Final = CapabilityUse(first, "work.first", "1.0.0", Order, Done, idempotent=True)
LAST: Final = CapabilityUse(last, "work.last", "1.0.0", Order, Done, idempotent=True)
UNDO: Final = CapabilityUse(undo, "work.undo", "1.0.0", Order, None, idempotent=True)
HANG: Final = CapabilityUse(hang, "work.hang", "1.0.0", Order, Done, idempotent=True)
APPROVED: Final = SignalUse(Approved, "work.approved")


def plan(flow_id: str, *nodes: Any) -> Plan[Any, Any]:
    return Plan(
        format=FORMAT,
        flow_id=flow_id,
        version="1.0.0",
        digest="nodes",
        profile=Profile.DURABLE,
        input=Order,
        output=None,
        nodes=nodes,
    )


HANGING: Final = plan(
    "work.hanging", Step(0, "first", FIRST, compensation=UNDO), Step(1, "hang", HANG), Step(2, "last", LAST)
)
WAITING: Final = plan(
    "work.waiting", Step(0, "first", FIRST), AwaitSignal(1, "wait", APPROVED, DAY), Step(2, "last", LAST)
)
RESTING: Final = plan("work.resting", Delay(0, "rest", timedelta(seconds=0.3)), Step(1, "last", LAST))
PARENT: Final = plan(
    "work.parent", SubFlow(0, "child", "work.waiting", "1.0.0", lambda ctx: ctx.input), Step(1, "end", LAST)
)
TELLING: Final = plan(
    "work.telling",
    Step(0, "first", FIRST),
    Emit(1, "tell", EventUse(Told, "work.told", "1.0.0"), lambda ctx: Told(name=ctx.input.name)),
)
PLANS: Final = (HANGING, WAITING, RESTING, PARENT, TELLING)


async def journal_on(
    dsn: str, schema: str, *, watching: Watching = QUICK, direct: str | None = None, past_pooler: str | None = None
) -> PostgresJournal:
    """A journal whose nodes look at each other often.

    Args:
        direct: where capabilities note their effects, if that is not `dsn`.
    """
    global _dsn, _schema
    _dsn, _schema = direct or dsn, schema
    journal = await PostgresJournal.open(dsn, schema=schema, direct_dsn=past_pooler)
    journal.watching = watching
    with psycopg.connect(_dsn, autocommit=True) as connection:
        connection.execute(EFFECTS.format(s=f'"{schema}"').encode())
    return journal


async def node(
    dsn: str,
    schema: str,
    *,
    plans: Any = PLANS,
    watching: Watching = QUICK,
    direct: str | None = None,
    past_pooler: str | None = None,
    **settings: Any,
) -> FlowHost:
    """A host that goes on only with what it is told of, unless `settings` say otherwise."""
    journal = await journal_on(dsn, schema, watching=watching, direct=direct, past_pooler=past_pooler)
    return FlowHost(plans, CAPABILITIES if plans else (), journal=journal, **({"sweep_interval": NEVER} | settings))


def approval() -> Delivery:
    """A signal as the journal takes it: nobody is told of it."""
    return Delivery(uuid4().hex, "work.approved", '{"by": "ada"}')


class Database:
    """What a test looks at."""

    def __init__(self, dsn: str, schema: str) -> None:
        self.dsn = dsn
        self.schema = schema

    def rows(self, query: str, *parameters: Any) -> list[Any]:
        with psycopg.connect(self.dsn, autocommit=True, options=f"-c search_path={self.schema}") as connection:
            cursor = connection.execute(query.encode(), parameters)
            return cursor.fetchall() if cursor.description is not None else []

    def effects(self, instance_id: UUID) -> list[str]:
        return [
            what for (what,) in self.rows("select what from effect where instance_id = %s order by place", instance_id)
        ]

    def state(self, instance_id: UUID) -> str:
        """The state of an instance; nothing where it is not there yet."""
        rows = self.rows("select state from flow_instance where instance_id = %s", instance_id)
        return str(rows[0][0]) if rows else ""

    async def comes(self, what: Callable[[], Any]) -> None:
        """Wait until something holds."""
        until = time.monotonic() + PATIENCE
        while not await asyncio.to_thread(what):
            assert time.monotonic() < until, "it did not come"
            await asyncio.sleep(0.02)

    async def has(self, instance_id: UUID, state: State) -> None:
        await self.comes(lambda: self.state(instance_id) == state.value)

    async def are_present(self, count: int) -> None:
        await self.comes(lambda: self.rows("select count(*) from flow_node")[0][0] == count)


class Process:
    """A node in a process of its own."""

    started: ClassVar[list[Process]] = []
    """By this test, whether it has come to their end or not."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.started.append(self)

    @classmethod
    async def start(cls, dsn: str, schema: str, **settings: Any) -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.nodes.scene",
            dsn,
            schema,
            json.dumps(settings),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=os.environ | {"HANGS": "yes"},
        )
        started = cls(process)
        await started.says("ready")
        return started

    async def says(self, word: str) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := (await self.process.stdout.readline()).decode():
                if line.startswith(word):
                    return line.removeprefix(word).strip()
        raise AssertionError(f"the process ended and did not say {word!r}")

    async def run(self, flow_id: str) -> UUID:
        """Have it start a flow, and wait for nothing."""
        assert self.process.stdin is not None
        instance_id = uuid4()
        self.process.stdin.write(f"{flow_id} {instance_id}\n".encode())
        await self.process.stdin.drain()
        return instance_id

    def send(self, number: signals.Signals) -> None:
        self.process.send_signal(number)

    async def end(self) -> int:
        if self.process.returncode is None:
            self.process.kill()
        return await self.process.wait()


async def _work(dsn: str, schema: str, settings: dict[str, Any]) -> None:
    seconds = {name: timedelta(seconds=value) for name, value in settings.items()}
    host = await node(dsn, schema, **seconds)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    runs: list[Awaitable[Any]] = []

    async def run(flow_id: str, instance_id: UUID) -> None:
        try:
            outcome: Any = await host.run(flow_id, Order(name="o"), instance_id=instance_id)
        except Exception as error:
            outcome = error
        print(f"ran {type(outcome).__name__}", flush=True)

    async with host:
        print("ready", flush=True)
        while line := (await reader.readline()).decode().split():
            runs.append(asyncio.create_task(run(line[0], UUID(line[1]))))
        if runs:
            await asyncio.wait(runs)


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
