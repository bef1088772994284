"""The values that cross the steps of `order.pay`."""

from __future__ import annotations

from flowx_runtime import Category, Contract, FlowError


class OrderLine(Contract):
    """What is bought."""

    sku: str
    quantity: int


class PayOrder(Contract):
    """An order to be paid and shipped."""

    order_id: str
    lines: tuple[OrderLine, ...]
    total_cents: int
    card_token: str
    """The processor's own name for the card: of no use to anybody else."""


class Receipt(Contract):
    """What the processor says of a charge."""

    charge_id: str


class Payment(Contract):
    """A paid order."""

    order_id: str
    charge_id: str
    reservations: tuple[str, ...]


class Shipment(Contract):
    """A parcel on its way."""

    parcel_id: str


class OrderPaid(Contract):
    """The flow's output."""

    order_id: str
    charge_id: str
    parcel_id: str


class ProcessorDown(FlowError, code="payment.processor_down", category=Category.UNAVAILABLE):
    """The card processor does not answer."""


class CardDeclined(FlowError, code="payment.card_declined", category=Category.CONFLICT):
    """The card was declined."""


class NothingToShip(FlowError, code="order.nothing_to_ship", category=Category.VALIDATION):
    """The order has no lines."""
