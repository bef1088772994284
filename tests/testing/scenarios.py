"""What tests do with a host, for whatever runs a scenario many times."""

from __future__ import annotations

from flowx_runtime.testing import FlowTestHost
from tests.testing.flows import ORDER, Approved, Paid


async def to_the_end(host: FlowTestHost) -> None:
    """Start it, and let the clock run."""
    await host.start(ORDER)
    await host.advance_until_done()


async def approve_and_pay(host: FlowTestHost) -> None:
    """Answer both of its waits, one at once and one a minute later."""
    run = await host.start(ORDER)
    await run.signal(Approved(by="ada"))
    host.signal_at("PT1M", Paid(amount=3))
    await host.advance_until_done()


async def two_nights(host: FlowTestHost) -> None:
    """Start nothing, and let two days go by."""
    await host.advance("P2D")
