"""What `order.pay` can do."""

from __future__ import annotations

from functools import partial
from typing import Final

from flowx_runtime import Backoff, Internal, Permission, StepContext, capability
from payments.contracts import NothingToShip, Payment, PayOrder, Shipment
from payments.ports import CardProcessor, Mailer, Warehouse

UNTIL_IT_ANSWERS: Final = Backoff.exponential("PT2S", "PT1M").max_attempts(6)
"""A processor is back within minutes, or somebody has to look at it."""


@capability(
    "payment.capture",
    version="1.0.0",
    authorization=Permission("orders.pay"),
    side_effects=("warehouse", "card-processor", "mail"),
    errors=(NothingToShip,),
)
class CapturePayment:
    """Reserves the goods, charges the card and writes to the buyer: each of them once."""

    def __init__(self, warehouse: Warehouse, processor: CardProcessor, mailer: Mailer) -> None:
        self._warehouse = warehouse
        self._processor = processor
        self._mailer = mailer

    async def execute(self, request: PayOrder, ctx: StepContext) -> Payment:
        if not request.lines:
            raise NothingToShip
        reservations = []
        for line in request.lines:
            # Each pass is a step of its own: a retry of the charge below reserves none of them again.
            reserve = partial(self._warehouse.reserve, request.order_id, line.sku, line.quantity)
            reservations.append(await ctx.once("reserve", reserve))
        # The key is the order's: tomorrow's run for the same order presents it again, and is not charged twice.
        receipt = await ctx.once(
            "charge",
            lambda key: self._processor.charge(request.card_token, request.total_cents, key),
            scope=request.order_id,
            retry=UNTIL_IT_ANSWERS,
        )
        await ctx.durable(self._mailer).send_receipt(request.order_id, receipt.charge_id)
        return Payment(order_id=request.order_id, charge_id=receipt.charge_id, reservations=tuple(reservations))


@capability(
    "payment.refund",
    version="1.0.0",
    authorization=Internal(),
    idempotent=True,
    side_effects=("warehouse", "card-processor"),
)
class RefundPayment:
    """Gives the money and the goods back; the undo of the capture."""

    def __init__(self, warehouse: Warehouse, processor: CardProcessor) -> None:
        self._warehouse = warehouse
        self._processor = processor

    async def execute(self, request: Payment, ctx: StepContext) -> None:
        await ctx.once("refund", lambda key: self._processor.refund(request.charge_id, key))
        for reservation in request.reservations:
            await ctx.once("release", partial(self._warehouse.release, reservation))


@capability("order.ship", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("warehouse",))
class ShipOrder:
    """Sends the parcel."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse

    async def execute(self, request: Payment, ctx: StepContext) -> Shipment:
        return Shipment(parcel_id=await self._warehouse.ship(request.reservations))
