"""An in-memory stand-in for a signature service."""

from __future__ import annotations

import asyncio
import os

DEFAULT_SECONDS_TO_SEND = 0.0


class SignatureService:
    """Sends envelopes and withdraws them."""

    def __init__(self, seconds_to_send: float) -> None:
        self._seconds_to_send = seconds_to_send
        self.open_envelopes: set[str] = set()

    @classmethod
    def from_environment(cls) -> SignatureService:
        """A service as slow as `FLOWX_EXAMPLE_SIGNATURE_SECONDS` says."""
        return cls(float(os.environ.get("FLOWX_EXAMPLE_SIGNATURE_SECONDS", DEFAULT_SECONDS_TO_SEND)))

    async def send(self, candidate_id: str) -> str:
        """Send an envelope; one candidate has one."""
        await asyncio.sleep(self._seconds_to_send)
        envelope_id = f"env-{candidate_id}"
        self.open_envelopes.add(envelope_id)
        return envelope_id

    def withdraw(self, candidate_id: str) -> None:
        """Withdraw a candidate's envelope; withdrawing it twice is harmless."""
        self.open_envelopes.discard(f"env-{candidate_id}")
