"""What the measurements of the journal share: a server, a durable flow of five steps, and the same rows written bare.

The bare writer is what anybody would write by hand: one INSERT of one row per step, committed by itself, on a
connection that prepares it. It has no lease, no fence, no state and nothing to resume from.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final
from uuid import UUID, uuid4

from psycopg import AsyncConnection

from flowx_runtime import Completed, Contract, FlowHost, Internal, PostgresJournal, Profile, StepContext, capability
from flowx_runtime.plan import FORMAT, CapabilityUse, Plan, Step

STEPS: Final = 5
_RESULT: Final = '{"order_id":"o-1","number":1}'


class Order(Contract):
    order_id: str
    number: int


@capability("order.count", version="1.0.0", authorization=Internal(), idempotent=True)
async def count(request: Order, _ctx: StepContext) -> Order:
    return request.model_copy(update={"number": request.number + 1})


_COUNT: Final = CapabilityUse(count, "order.count", "1.0.0", Order, Order, idempotent=True)

PLAN: Final = Plan(
    format=FORMAT,
    flow_id="order.count",
    version="1.0.0",
    digest="benchmark",
    profile=Profile.DURABLE,
    input=Order,
    output=Order,
    nodes=tuple(Step(index, f"count#{index}", _COUNT) for index in range(STEPS)),
    returns=lambda ctx: ctx.get(Order),
)


@contextmanager
def server() -> Iterator[str]:
    """The server in `FLOWX_DSN`, else an embedded one with its default settings: every commit reaches the disk."""
    given = os.environ.get("FLOWX_DSN")
    if given:
        yield given
        return
    from flowx_runtime.journal.postgres.embedded import EmbeddedServer

    with EmbeddedServer(settings={"max_connections": "200"}) as embedded:
        yield embedded.dsn


@asynccontextmanager
async def host(dsn: str, schema: str) -> AsyncIterator[FlowHost]:
    """A host on a schema that is dropped afterwards."""
    async with FlowHost([PLAN], [count], journal=await PostgresJournal.open(dsn, schema=schema)) as entered:
        yield entered
    async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute(f"drop schema {schema} cascade".encode())


async def run_flow(on: FlowHost) -> None:
    outcome = await on.run(PLAN, Order(order_id="o-1", number=1))
    assert isinstance(outcome, Completed), outcome


async def make_bare_table(dsn: str, schema: str) -> None:
    async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute(
            f"create table {schema}.bare_step (instance_id uuid, step_id integer, attempt integer, result json,"
            " committed_at timestamptz default now(), primary key (instance_id, step_id, attempt))".encode()
        )


async def write_bare(connection: AsyncConnection[Any], schema: str, instance_id: UUID | None = None) -> None:
    """Five rows, each an INSERT and a commit of its own."""
    instance_id = instance_id or uuid4()
    statement = f"insert into {schema}.bare_step (instance_id, step_id, attempt, result) values (%s, %s, 1, %s)"
    for step in range(STEPS):
        await connection.execute(statement.encode(), [instance_id, step, _RESULT])
