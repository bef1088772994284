"""`offer.accept`: send, wait for a person, settle, start."""

from __future__ import annotations

from flowx_runtime import Flow, FlowBuilder, Profile, flow, http_trigger
from offers.capabilities import SendOfferForSignature, WithdrawOffer, start_onboarding
from offers.contracts import AcceptedOffer, NotCountersigned, OfferCountersigned, OfferToAccept, OnboardingStarted
from offers.waits import COUNTERSIGNATURE, SETTLING


@flow("offer.accept", version="1.0.0", profile=Profile.DURABLE, owner="people-ops", deadline="P30D")
@http_trigger("POST", "/api/v1/offers")
class AcceptOffer(Flow[OfferToAccept, AcceptedOffer]):
    """Sends an offer out, waits for the signature, and starts onboarding a day later."""

    def define(self, flow: FlowBuilder[OfferToAccept, AcceptedOffer]) -> None:
        flow.step(SendOfferForSignature).compensate_with(WithdrawOffer)
        flow.await_signal(OfferCountersigned, timeout=COUNTERSIGNATURE).on_timeout(
            lambda late: late.fail(NotCountersigned)
        )
        flow.delay(SETTLING)
        flow.step(start_onboarding)
        flow.returns(
            lambda ctx: AcceptedOffer(
                candidate_id=ctx.input.candidate_id, onboarding_id=ctx.get(OnboardingStarted).onboarding_id
            )
        )
