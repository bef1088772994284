"""The capabilities of the application with their dependencies: what a host is given."""

from __future__ import annotations

from payments.capabilities import CapturePayment, RefundPayment, ShipOrder
from payments.ports import CardProcessor, Mailer, Warehouse
from payments.stand_ins import InMemoryMailer, InMemoryProcessor, InMemoryWarehouse


def capabilities(
    warehouse: Warehouse | None = None, processor: CardProcessor | None = None, mailer: Mailer | None = None
) -> list[object]:
    """One instance of each capability class, around one of each system."""
    warehouse = warehouse or InMemoryWarehouse()
    processor = processor or InMemoryProcessor()
    return [
        CapturePayment(warehouse, processor, mailer or InMemoryMailer()),
        RefundPayment(warehouse, processor),
        ShipOrder(warehouse),
    ]
