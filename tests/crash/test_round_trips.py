"""What a flow pays: one statement and one wait for the server per start, step, park, wake and end."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from flowx_runtime import FlowHost, PostgresJournal
from flowx_runtime.journal.postgres.connections import Connections
from flowx_runtime.journal.postgres.queries import queries
from flowx_runtime.journal.records import (
    Commit,
    Delivery,
    NewInstance,
    Refused,
    RowOutcome,
    State,
    StepRow,
    Wait,
)
from flowx_runtime.plan import AwaitSignal, Delay, Plan
from tests.crash.capabilities import APPROVED, Approved, Order
from tests.crash.drive import host_of
from tests.crash.round_trips import RoundTrips, counted
from tests.crash.scenarios import DAY, Scenario, emit, family, plain, plan, refuse, step
from tests.crash.world import World

BEFORE_PREPARED = 8
"""Repetitions after which the driver has prepared what it sends often."""


HINTS = frozenset({"tell_nodes"})
"""What others may be told, and nobody waits for."""

TTL = timedelta(seconds=30)


@pytest.fixture
async def trips(postgres_dsn: str) -> AsyncIterator[RoundTrips]:
    with tempfile.TemporaryDirectory(prefix="flowx-") as folder:  # a socket's path is short
        async with counted(postgres_dsn, Path(folder)) as counting:
            yield counting


async def test_each_write_of_a_journal_is_one_round_trip(trips: RoundTrips, schema: str) -> None:
    journal = await PostgresJournal.open(trips.dsn, schema=schema)
    took: dict[str, int] = {}

    async def timed(name: str, asked: Awaitable[Any]) -> Any:
        before = trips.count
        answer = await asked
        took[name] = trips.count - before
        assert not isinstance(answer, Refused)
        return answer

    for _ in range(BEFORE_PREPARED):
        new = NewInstance(uuid4(), "crash", "1.0.0", "d1", "{}")
        started = await timed("start", journal.start(new, owner="n", ttl=TTL))

        def commit(token: int, step_id: int, **parts: Any) -> Commit:
            row = StepRow("", step_id, 1, "work.do", RowOutcome.SUCCESS)
            return Commit(new.instance_id, token, rows=(row,), **parts)  # noqa: B023

        await timed("step", journal.commit(commit(started.lease.fencing_token, 0)))
        wait = Wait("", 2, datetime(2031, 1, 1, tzinfo=UTC), "work.approved")
        parked = commit(started.lease.fencing_token, 1, state=State.SUSPENDED, waits=(wait,), release_lease=True)
        await timed("park", journal.commit(parked))
        await timed("signal", journal.deliver(new.instance_id, Delivery("d", "work.approved", "{}")))
        claimed = await timed("claim", journal.claim(new.instance_id, owner="n", ttl=TTL))
        token = claimed.lease.fencing_token
        await timed("wake", journal.commit(commit(token, 2, taken_deliveries=("d",), state=State.RUNNING)))
        await timed("end", journal.commit(commit(token, 3, state=State.COMPLETED, output="{}", release_lease=True)))
    await journal.close()
    assert took == dict.fromkeys(("start", "step", "park", "signal", "claim", "wake", "end"), 1)


class Node:
    """A host that says which statements it sends."""

    def __init__(self, journal: PostgresJournal, sent: list[str]) -> None:
        self.journal = journal
        self.world = World(lambda line: None)
        self.sent = sent
        self._keys = count()

    def host(self, *plans: Plan[Any, Any]) -> FlowHost:
        return host_of(Scenario(plans), self.journal, self.world, lease_ttl=TTL)

    async def run(self, host: FlowHost) -> UUID:
        return (await host.run("crash", Order(name="o"), idempotency_key=f"{next(self._keys)}")).instance_id


@pytest.fixture
async def node(postgres_dsn: str, schema: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Node]:
    sent: list[str] = []
    names = {text: name for name, text in queries(schema).items()}
    fetch = Connections.fetch

    async def noting(self: Connections, query: bytes, parameters: Any) -> Sequence[tuple[Any, ...]]:
        if names[query] not in HINTS:
            sent.append(names[query])
        return await fetch(self, query, parameters)

    monkeypatch.setattr(Connections, "fetch", noting)
    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    yield Node(journal, sent)
    await journal.close()


async def statements(node: Node, *plans: Plan[Any, Any]) -> int:
    host = node.host(*plans)
    await node.run(host)
    return len(node.sent)


@pytest.mark.parametrize("steps", [1, 2, 5])
async def test_a_start_is_one_statement_and_so_is_each_step_the_last_with_the_end(node: Node, steps: int) -> None:
    assert await statements(node, plan(*(step(index, f"{index}") for index in range(steps)))) == 1 + steps


async def test_an_event_goes_with_the_row_of_the_step_before_it(node: Node) -> None:
    assert await statements(node, plan(step(0, "a"), step(1, "b"), emit(2))) == 1 + 2


async def test_a_park_goes_with_the_row_of_the_step_before_it(node: Node) -> None:
    assert await statements(node, plan(step(0, "a"), Delay(1, "rest", DAY))) == 1 + 1


async def test_a_failure_turns_back_in_the_write_of_its_row_and_each_undo_is_one_more(node: Node) -> None:
    # start, a, b, the failing row with the turn; the undo of b, and of a with the end
    assert await statements(node, plan(step(0, "a"), step(1, "b"), refuse(2))) == 4 + 2


async def test_an_inline_child_costs_its_start_and_its_steps(node: Node) -> None:
    # start, a; the child's start, x, w, y with its end; the child's row in its parent; b with the end
    assert await statements(node, *family()) == 2 + 4 + 1 + 1


async def test_a_flow_that_begins_with_a_wait_is_parked_by_the_statement_that_starts_it(node: Node) -> None:
    host = node.host(plan(AwaitSignal(0, "approval", APPROVED, DAY), plain(1, "a")))
    assert (await node.journal.read(await node.run(host))).instance.state is State.SUSPENDED
    assert node.sent == ["start_parked", "read"]


async def test_a_signal_that_wakes_is_one_statement_together_with_the_claim_and_its_history(node: Node) -> None:
    host = node.host(plan(step(0, "a"), AwaitSignal(1, "approval", APPROVED, DAY), plain(2, "b")))
    parked = await node.run(host)
    node.sent.clear()
    await host.signal(parked, Approved(by="ada"))
    # then the row of the wait, and b with the end
    assert len(node.sent) == 1 + 2


async def test_a_sweep_claims_all_that_is_due_with_their_histories_in_one_statement(node: Node) -> None:
    host = node.host(plan(step(0, "a"), Delay(1, "rest", DAY), plain(2, "b")))

    async def wake(number: int) -> int:
        for _ in range(number):
            await node.run(host)
        node.world.move_to(node.world.now() + DAY)
        node.sent.clear()
        assert await host.sweep_once() == number
        return len(node.sent)

    # the claim; the row of the delay, b with the end; the look for what is abandoned
    assert await wake(1) == 1 + 2 + 1
    # Ten that are gone on with at the same time share their writes.
    assert await wake(10) < 1 + 10 * 2 + 1
