"""A process is killed while its instance is parked, and another goes on with the count and the budget."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Database

ROOT = Path(__file__).parents[2]
NODE = """
import asyncio, sys
from datetime import timedelta
sys.path[:0] = [{root!r}, {example!r}]
from polling import waits
from flowx_runtime import Backoff, FlowHost, PostgresJournal
waits.OCR_POLLING = Backoff.exponential_jitter("PT0.5S", "PT0.5S")
waits.OCR_BUDGET = timedelta(seconds={budget})
from polling.app import capabilities
from polling.contracts import SubmitDocument
from polling.plans import CATALOG

async def main():
    journal = await PostgresJournal.open({dsn!r}, schema={schema!r})
    host = FlowHost(plans=CATALOG, capabilities=capabilities(), journal=journal, sweep_interval=timedelta(seconds=0.2))
    async with host:
        if {start}:
            document = SubmitDocument(document_id="doc-1", content_type="application/pdf", pages=1)
            outcome = await host.run("document.process", document)
            print(outcome.instance_id, flush=True)
        await asyncio.sleep(120)

asyncio.run(main())
"""


def start_node(database: Database, *, seconds_per_page: float, budget: float, start: bool) -> subprocess.Popen[str]:
    program = NODE.format(
        root=str(ROOT),
        example=str(ROOT / "examples" / "polling"),
        dsn=database.dsn,
        schema=database.schema,
        budget=budget,
        start=start,
    )
    environment = os.environ | {"FLOWX_EXAMPLE_OCR_SECONDS_PER_PAGE": str(seconds_per_page)}
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)


def wait_for(condition: Any, *, within: float = 30.0) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)  # another process is doing the work; only its rows tell how far it is


@pytest.mark.slow  # real processes, real waits
@pytest.mark.parametrize(
    ("seconds_per_page", "budget", "state"), [(4.0, 60.0, "Completed"), (600.0, 4.0, "Failed")], ids=["count", "budget"]
)
def test_a_kill_while_parked_costs_neither_attempts_nor_budget(
    database: Database, seconds_per_page: float, budget: float, state: str
) -> None:
    """Seed 000: the attempt count, the budget and the position survive the node that started them."""
    first = start_node(database, seconds_per_page=seconds_per_page, budget=budget, start=True)
    assert first.stdout is not None
    instance_id: Any = first.stdout.readline().strip()
    wait_for(lambda: len(database.steps(instance_id)) >= 3 and database.state(instance_id) == "Suspended")
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    before = database.steps(instance_id)

    second = start_node(database, seconds_per_page=seconds_per_page, budget=budget, start=False)
    try:
        wait_for(lambda: database.state(instance_id) == state)
    finally:
        second.terminate()
        second.wait()
    after = database.steps(instance_id)
    assert after[: len(before)] == before
    attempts = [row for row in after if "ocr.status" in row]
    assert [row.split("|")[0] for row in attempts] == [str(number) for number in range(len(attempts))]
    captured = database.rows(
        "select nondeterministic ->> 'utcNow' from flow_step where scope = '0' and instance_id = %s", instance_id
    )[0][0]
    if state == "Failed":
        ended = database.rows("select updated_at from flow_instance where instance_id = %s", instance_id)[0][0]
        from datetime import datetime

        # Counted from attempt 0, made by the process that was killed; a budget that began anew would end later.
        assert 4.0 <= (ended - datetime.fromisoformat(captured)).total_seconds() < 4.0 + 4.0
        assert after[-1] == "|0|ocr.cancel|Compensated"
    else:
        assert after[-1] == "|6|document.processed|Success"
