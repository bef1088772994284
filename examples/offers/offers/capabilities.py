"""What `offer.accept` can do."""

from __future__ import annotations

from flowx_runtime import Authenticated, Internal, StepContext, capability
from offers.contracts import OfferCountersigned, OfferSent, OfferToAccept, OnboardingStarted
from offers.signature_service import SignatureService


@capability("offer.send", version="1.0.0", authorization=Authenticated(), side_effects=("signature-service",))
class SendOfferForSignature:
    """Sends the offer out."""

    def __init__(self, signatures: SignatureService) -> None:
        self._signatures = signatures

    async def execute(self, request: OfferToAccept, ctx: StepContext) -> OfferSent:
        return OfferSent(envelope_id=await self._signatures.send(request.candidate_id))


@capability(
    "offer.withdraw",
    version="1.0.0",
    authorization=Internal(),
    idempotent=True,
    side_effects=("signature-service",),
)
class WithdrawOffer:
    """Withdraws it; the undo of sending."""

    def __init__(self, signatures: SignatureService) -> None:
        self._signatures = signatures

    async def execute(self, request: OfferToAccept, ctx: StepContext) -> None:
        self._signatures.withdraw(request.candidate_id)


@capability("onboarding.start", version="1.0.0", authorization=Internal(), idempotent=True)
async def start_onboarding(request: OfferCountersigned, ctx: StepContext) -> OnboardingStarted:
    """Begin onboarding whoever signed. It binds the signal like any earlier step's result."""
    return OnboardingStarted(onboarding_id=f"onb-{request.signed_by}")
