"""The values that cross the steps of `offer.accept`."""

from __future__ import annotations

from datetime import datetime

from flowx_runtime import Category, Contract, FlowError, signal


class OfferToAccept(Contract):
    """An offer to a candidate."""

    candidate_id: str
    role: str
    site: str


class OfferSent(Contract):
    """The envelope that went out."""

    envelope_id: str


@signal("offer.countersigned")
class OfferCountersigned(Contract):
    """The candidate has signed."""

    envelope_id: str
    signed_by: str
    signed_at: datetime


class OnboardingStarted(Contract):
    """Onboarding has begun."""

    onboarding_id: str


class AcceptedOffer(Contract):
    """The flow's output."""

    candidate_id: str
    onboarding_id: str


class NotCountersigned(FlowError, code="offer.not_countersigned", category=Category.UNAVAILABLE):
    """Nobody signed the offer before its window closed."""
