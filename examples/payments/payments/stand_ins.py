"""In-memory stand-ins for the three systems, which write down every call that reaches them."""

from __future__ import annotations

from payments.contracts import CardDeclined, ProcessorDown, Receipt
from payments.ports import CardProcessor, Mailer, Warehouse


class InMemoryWarehouse(Warehouse):
    """Has everything."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def reserve(self, order_id: str, sku: str, quantity: int) -> str:
        self.calls.append(f"reserve {quantity} {sku}")
        return f"{order_id}/{sku}"

    async def ship(self, reservations: tuple[str, ...]) -> str:
        self.calls.append(f"ship {', '.join(reservations)}")
        return f"parcel of {len(reservations)}"

    async def release(self, reservation: str) -> None:
        self.calls.append(f"release {reservation}")


class InMemoryProcessor(CardProcessor):
    """Knows a key when it sees it again, as a processor should.

    Args:
        down_for: how many charges it does not answer before it is back.
        declines: whether it says no.
    """

    def __init__(self, *, down_for: int = 0, declines: bool = False) -> None:
        self.calls: list[str] = []
        self.charged: dict[str, int] = {}
        """Cents by key: what buyers have paid."""
        self.refunded: set[str] = set()
        self._down_for = down_for
        self._declines = declines

    async def charge(self, card_token: str, cents: int, idempotency_key: str) -> Receipt:
        self.calls.append(f"charge {cents}")
        if self._down_for:
            self._down_for -= 1
            raise ProcessorDown
        if self._declines:
            raise CardDeclined
        self.charged.setdefault(idempotency_key, cents)
        return Receipt(charge_id=f"charge-{list(self.charged).index(idempotency_key) + 1}")

    async def refund(self, charge_id: str, idempotency_key: str) -> None:
        self.calls.append(f"refund {charge_id}")
        self.refunded.add(charge_id)


class InMemoryMailer(Mailer):
    """Keeps what it would send."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send_receipt(self, order_id: str, charge_id: str) -> None:
        self.sent.append(f"{order_id} is paid with {charge_id}")
