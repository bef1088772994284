"""Contracts and capabilities that the typed samples build on."""

from __future__ import annotations

from flowx_runtime import Backoff, Category, Contract, FlowError, Internal, StepContext, capability, event, signal

GAPS = Backoff.exponential_jitter("PT5S", "PT5M")


class Order(Contract):
    order_id: str
    express: bool
    lines: tuple[str, ...]


class Reservation(Contract):
    reservation_id: str


class Status(Contract):
    done: bool


class Receipt(Contract):
    reference: str


@event("order.placed", version="1.0.0")
class OrderPlaced(Contract):
    order_id: str


@signal("order.paid")
class OrderPaid(Contract):
    reference: str


@signal("order.cancelled")
class OrderCancelled(Contract):
    reason: str


class TooLate(FlowError, code="order.too_late", category=Category.UNAVAILABLE):
    """Nobody answered in time."""


@capability("stock.reserve", version="1.0.0", authorization=Internal())
class Reserve:
    async def execute(self, request: Order, ctx: StepContext) -> Reservation:
        return Reservation(reservation_id=ctx.idempotency_key)


@capability("stock.release", version="1.0.0", authorization=Internal(), idempotent=True)
class Release:
    def execute(self, request: Reservation, ctx: StepContext) -> None:
        return None


@capability("stock.forget", version="1.0.0", authorization=Internal(), idempotent=True)
async def forget(request: Order, ctx: StepContext) -> None:
    return None


@capability("stock.status", version="1.0.0", authorization=Internal(), idempotent=True)
async def status(request: Reservation, ctx: StepContext) -> Status:
    return Status(done=True)


@capability("payment.refund", version="1.0.0", authorization=Internal(), idempotent=True)
async def refund(request: Receipt, ctx: StepContext) -> None:
    return None


@capability("order.ship", version="1.0.0", authorization=Internal(), idempotent=True)
def ship(request: Reservation, ctx: StepContext) -> Receipt:
    return Receipt(reference=request.reservation_id)
