"""The page on steps that run once shows the example's own code, and paths as a run leaves them."""

from __future__ import annotations

from datetime import UTC, datetime

from payments.app import capabilities
from payments.contracts import OrderLine, PayOrder
from payments.plans import CATALOG
from payments.stand_ins import InMemoryProcessor

from flowx_runtime import FlowHost, MemoryJournal
from flowx_runtime.journal.records import State
from tests.docs.test_readme import BLOCK, ROOT


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self._now = datetime(2031, 5, 6, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self._now

    def move_to(self, instant: datetime) -> None:
        self._now = instant


PAGE = (ROOT / "docs/once.md").read_text("utf-8")
BLOCKS = [(match["kind"], match["what"], match["text"]) for match in BLOCK.finditer(PAGE)]


def test_the_code_is_the_example_s_own() -> None:
    shown = [(what, text) for kind, what, text in BLOCKS if kind == "part of"]
    assert len(shown) == 2
    for what, text in shown:
        assert text in (ROOT / what).read_text("utf-8")


async def test_the_paths_are_those_of_a_run() -> None:
    clock, journal = Clock(), MemoryJournal()
    made = capabilities(processor=InMemoryProcessor(down_for=2))
    host = FlowHost(CATALOG, made, journal=journal, clock=clock, sweep_interval=None)
    lines = (OrderLine(sku="tea", quantity=2), OrderLine(sku="cup", quantity=1))
    outcome = await host.run("order.pay", PayOrder(order_id="o", lines=lines, total_cents=1, card_token="t"))
    while (await host.inspect(outcome.instance_id)).instance.state is not State.COMPLETED:
        wake = await journal.next_wake()
        assert wake is not None
        clock.move_to(wake)
        await host.sweep_once()
    records = await journal.once_records(outcome.instance_id, "order.pay/payment.capture")
    assert all(record.is_done for record in records if record.attempts)
    shown = [
        f"{record.path:<47}done, {record.attempts} attempt{'s'[: record.attempts - 1]}"
        for record in records
        if record.attempts
    ]
    assert shown == next(text for kind, _, text in BLOCKS if kind == "output of").splitlines()
