"""Paying an order and sending it."""

from __future__ import annotations

from flowx_runtime import Flow, FlowBuilder, Profile, flow
from payments.capabilities import CapturePayment, RefundPayment, ShipOrder
from payments.contracts import OrderPaid, Payment, PayOrder, Shipment


@flow("order.pay", version="1.0.0", profile=Profile.DURABLE, owner="payments", deadline="PT1H")
class PayAndShip(Flow[PayOrder, OrderPaid]):
    """Charges, then ships; what cannot be shipped is given back."""

    def define(self, flow: FlowBuilder[PayOrder, OrderPaid]) -> None:
        flow.step(CapturePayment).compensate_with(RefundPayment)
        flow.step(ShipOrder)  # flowx: ignore[FLOWX1066] a parcel that has left comes back as a return, not as an undo
        flow.returns(
            lambda ctx: OrderPaid(
                order_id=ctx.input.order_id,
                charge_id=ctx.get(Payment).charge_id,
                parcel_id=ctx.get(Shipment).parcel_id,
            )
        )
