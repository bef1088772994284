"""What the capabilities need of other systems. Steps are named after these, not after what implements them."""

from __future__ import annotations

from typing import Protocol

from payments.contracts import Receipt


class Warehouse(Protocol):
    """Keeps goods for an order."""

    async def reserve(self, order_id: str, sku: str, quantity: int) -> str:
        """Put goods aside; gives the reservation."""

    async def ship(self, reservations: tuple[str, ...]) -> str:
        """Send what was put aside; gives the parcel."""

    async def release(self, reservation: str) -> None:
        """Put goods back."""


class CardProcessor(Protocol):
    """Takes money and gives it back."""

    async def charge(self, card_token: str, cents: int, idempotency_key: str) -> Receipt:
        """Charge a card. The same key again is the same charge."""

    async def refund(self, charge_id: str, idempotency_key: str) -> None:
        """Give a charge back. The same key again is the same refund."""


class Mailer(Protocol):
    """Writes to the buyer."""

    async def send_receipt(self, order_id: str, charge_id: str) -> None:
        """Say that the order is paid."""
