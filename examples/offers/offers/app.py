"""The capabilities of the application with their dependencies: what a host is given."""

from __future__ import annotations

from offers.capabilities import SendOfferForSignature, WithdrawOffer
from offers.signature_service import SignatureService


def capabilities(signatures: SignatureService | None = None) -> list[object]:
    """One instance of each capability class, around one signature service; functions need none."""
    signatures = signatures or SignatureService.from_environment()
    return [SendOfferForSignature(signatures), WithdrawOffer(signatures)]
