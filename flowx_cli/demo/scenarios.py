"""The stories that the demo can tell, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LONG_BUDGET = "timedelta(seconds=60)"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run of one example."""

    example: str
    flow_id: str
    title: str
    request: str
    """What a client would have sent, for the eye."""
    input: Mapping[str, Any]
    waits: Mapping[str, str]
    """Source of the constants of the copy's `waits.py`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Speeds of the stand-ins. They reach no declared duration."""
    signal: str | None = None
    """The identity of a signal that is delivered while the flow waits."""
    signal_payload: Mapping[str, Any] = field(default_factory=dict)
    signal_after: float = 0.0
    """Seconds after parking."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """What to say beside a row, by its capability id (or its outcome, for a row without one)."""


_DOCUMENT = {"document_id": "doc-1", "content_type": "application/pdf", "pages": 12}
_OFFER = {"candidate_id": "c-42", "role": "staff-engineer", "site": "london"}
_SIGNATURE = {"envelope_id": "env-c-42", "signed_by": "ada.lovelace", "signed_at": "2026-08-01T13:40:15Z"}
_WITHDRAWN = "the unwind, from the journal: the undo of the first row"


def polling(*, signal: bool, timeout: bool) -> Scenario:
    """`document.process`: until the provider has read it; until it says so; until the budget runs out."""
    slow = signal or timeout
    return Scenario(
        example="polling",
        flow_id="document.process",
        title="A document is read by a slow provider",
        request="POST /api/v1/documents",
        input=_DOCUMENT,
        waits={
            "OCR_POLLING": (
                'Backoff.exponential_jitter("PT30S", "PT30S")'
                if signal
                else 'Backoff.exponential_jitter("PT1S", "PT1.5S")'
            ),
            "OCR_BUDGET": "timedelta(seconds=3)" if timeout else LONG_BUDGET,
        },
        environment={"FLOWX_EXAMPLE_OCR_SECONDS_PER_PAGE": "60" if slow else "0.2"},
        signal="ocr.completed" if signal else None,
        signal_payload={"job_id": "doc-1"},
        signal_after=1.0,
        remarks={
            "ocr.status": "an attempt: its number is the scope",
            "ocr.completed": "the signal, as the poll's own row: no further attempt",
            "document.escalate": "the budget ran out: a person looks at it",
            "ocr.cancel": _WITHDRAWN,
            "": "the on_timeout block's fail",
        },
    )


def offers(*, signal: bool, timeout: bool) -> Scenario:
    """`offer.accept`: signed (the plain and the fast path are the same here), or not in time."""
    return Scenario(
        example="offers",
        flow_id="offer.accept",
        title="An offer goes out for countersignature",
        request="POST /api/v1/offers",
        input=_OFFER,
        waits={
            "COUNTERSIGNATURE": "timedelta(seconds=3)" if timeout else LONG_BUDGET,
            "SETTLING": f"timedelta(seconds={1 if signal else 2})",
        },
        signal=None if timeout else "offer.countersigned",
        signal_payload=_SIGNATURE,
        signal_after=0.5 if signal else 2.0,
        remarks={
            "offer.countersigned": "the signal, as the wait's own row",
            "flow.delay": "the settling period, by the clock",
            "offer.withdraw": _WITHDRAWN,
            "": "the on_timeout block's fail",
        },
    )


SCENARIOS = {"polling": polling, "offers": offers}
