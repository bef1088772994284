"""A process is killed around the record of a step inside a capability, and another one enters the body again."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.acceptance.conftest import Database
from tests.acceptance.test_killed_process import ROOT, wait_for

NODE = """
import asyncio, os, signal, sys
from datetime import timedelta
from pathlib import Path
from uuid import UUID
sys.path[:0] = [{root!r}, {example!r}]
from flowx_runtime import FlowHost, PostgresJournal
from payments.app import capabilities
from payments.contracts import OrderLine, PayOrder
from payments.plans import CATALOG
from payments.stand_ins import InMemoryProcessor

class Processor(InMemoryProcessor):
    async def charge(self, card_token, cents, idempotency_key):
        with open({effects!r}, "a") as effects:
            effects.write(idempotency_key + "\\n")
        return await super().charge(card_token, cents, idempotency_key)

class Dying(PostgresJournal):
    async def record_once(self, instance_id, records, *, fencing_token):
        is_charge = any(record.path.endswith("/charge") for record in records)
        if is_charge and {kill!r} == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = await super().record_once(instance_id, records, fencing_token=fencing_token)
        if is_charge and {kill!r} == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

async def main():
    journal = await Dying.open({dsn!r}, schema={schema!r})
    host = FlowHost(
        plans=CATALOG, capabilities=capabilities(processor=Processor()), journal=journal,
        sweep_interval=timedelta(seconds=0.2), lease_ttl=timedelta(seconds=1),
    )
    order = PayOrder(order_id="o-1", lines=(OrderLine(sku="tea", quantity=1),), total_cents=5, card_token="t")
    async with host:
        if {kill!r}:
            await host.run("order.pay", order, instance_id=UUID({instance!r}))
        await asyncio.sleep(60)

asyncio.run(main())
"""


def node(database: Database, effects: Path, instance_id: UUID, *, kill: str = "") -> subprocess.Popen[bytes]:
    program = NODE.format(
        root=str(ROOT),
        example=str(ROOT / "examples" / "payments"),
        effects=str(effects),
        dsn=database.dsn,
        schema=database.schema,
        kill=kill,
        instance=str(instance_id),
    )
    return subprocess.Popen([sys.executable, "-c", program])


@pytest.mark.slow  # real processes
@pytest.mark.parametrize(("kill", "charges"), [("after", 1), ("before", 2)], ids=["after the record", "in the window"])
def test_a_kill_after_the_record_repeats_nothing_and_in_the_window_the_key(
    database: Database, tmp_path: Path, kill: str, charges: int
) -> None:
    """Seed 002, what it guarantees and what it does not: only the key closes the window between effect and record."""
    effects, instance_id = tmp_path / "effects", uuid4()
    first = node(database, effects, instance_id, kill=kill)
    assert first.wait(60) == -signal.SIGKILL
    assert len(effects.read_text().splitlines()) == 1
    assert database.steps(instance_id) == []
    second = node(database, effects, instance_id)
    try:
        wait_for(lambda: database.state(instance_id) == "Completed")
    finally:
        second.terminate()
        second.wait()
    keys = effects.read_text().splitlines()
    assert len(keys) == charges
    assert len({*keys}) == 1
    recorded = database.rows("select path from flow_once where instance_id = %s and is_done order by path", instance_id)
    top = "order.pay/payment.capture"
    assert [path for (path,) in recorded] == [f"{top}/Mailer.send_receipt", f"{top}/charge", f"{top}/reserve"]
