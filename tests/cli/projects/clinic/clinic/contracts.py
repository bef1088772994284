"""What the clinic's flows take, give and wait for."""

from __future__ import annotations

from typing import Final

from flowx_runtime import Backoff, Category, Contract, FlowError, Sensitive, event, signal
from flowx_runtime.authoring.policies import PolicySet, Retry

PATIENT: Final = PolicySet("patient", retry=Retry(3, Backoff.exponential_jitter("PT2H", "PT2H")))


class Patient(Contract):
    name: str
    national_id: Sensitive[str]


class Person(Contract):
    name: str


class Record(Contract):
    record_id: str


class Bill(Contract):
    total: int


class Letter(Contract):
    sent: bool


@signal("consent.given")
class Consent(Contract):
    by: str
    words: Sensitive[str]


@event("visit.closed", version="1.0.0")
class VisitClosed(Contract):
    name: str
    note: Sensitive[str]


class Away(FlowError, code="clinic.away", category=Category.UNAVAILABLE):
    """Somebody does not answer."""


class Refused(FlowError, code="visit.refused", category=Category.CONFLICT):
    """The insurer does not pay."""
