"""Systems around `order.pay` that outlive a process: they keep what reached them in a file."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any


class Outside:
    """What reached the systems, in order.

    Args:
        file: where it is kept.
        kills: whether the process is killed when a card has been charged, before anybody can write that down.
    """

    def __init__(self, file: Path, *, kills: bool = False) -> None:
        self._file = file
        self._kills = kills

    def note(self, said: str, *, key: str = "") -> None:
        """Keep that something arrived."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"said": said, "key": key}) + "\n")

    def knows(self, key: str) -> bool:
        """Whether something arrived with this key."""
        return any(arrived["key"] == key for arrived in self._arrived())

    def seen(self) -> Sequence[str]:
        """It in words."""
        return [arrived["said"] for arrived in self._arrived()]

    def kill(self) -> None:
        """End this process, as a machine ends that loses its power."""
        if self._kills:
            os.kill(os.getpid(), signal.SIGKILL)

    def _arrived(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self._file.read_text("utf-8").splitlines()] if self._file.exists() else []


class Warehouse:
    """Has everything."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    async def reserve(self, order_id: str, sku: str, quantity: int) -> str:
        self._outside.note(f"the warehouse:   reserve {quantity} {sku}")
        return f"{order_id}/{sku}"

    async def ship(self, reservations: tuple[str, ...]) -> str:
        self._outside.note(f"the warehouse:   ship {', '.join(reservations)}")
        return f"parcel of {len(reservations)}"

    async def release(self, reservation: str) -> None:
        self._outside.note(f"the warehouse:   release {reservation}")


class Processor:
    """Knows a key when it sees it again."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    async def charge(self, card_token: str, cents: int, idempotency_key: str) -> Any:
        is_known = self._outside.knows(idempotency_key)
        what = "a key it knows: nothing is charged" if is_known else f"charged {cents} cents"
        self._outside.note(f"the processor:   key {idempotency_key[:8]}…, {what}", key=idempotency_key)
        self._outside.kill()
        return import_module("payments.contracts").Receipt(charge_id="charge-1")

    async def refund(self, charge_id: str, idempotency_key: str) -> None:
        self._outside.note(f"the processor:   refund {charge_id}", key=idempotency_key)


class Mailer:
    """Sends everything."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    async def send_receipt(self, order_id: str, charge_id: str) -> None:
        self._outside.note(f"the mail server: {order_id} is paid with {charge_id}")


def capabilities_around(outside: Outside) -> list[object]:
    """The example's capabilities with these systems. The example has to be importable."""
    made: list[object] = import_module("payments.app").capabilities(
        Warehouse(outside), Processor(outside), Mailer(outside)
    )
    return made
