"""The stories that the demo can tell, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flowx_cli.demo.stages import SetStage, company, lasting_systems, slow_processor

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
    """Source of constants of the copy."""
    waits_in: str = "waits.py"
    """Which module of the example has them."""
    set_stage: SetStage | None = None
    """The systems around it, where the story needs others than the example's own."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Speeds of the stand-ins. They reach no declared duration."""
    signal: str | None = None
    """The identity of a signal that is delivered while the flow waits."""
    signal_payload: Mapping[str, Any] = field(default_factory=dict)
    signal_after: float = 0.0
    """Seconds after parking."""
    is_killed: bool = False
    """Another node starts it, and is killed in the middle."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """What to say beside a row, by its capability id (or its outcome, for a row without one)."""


_DOCUMENT = {"document_id": "doc-1", "content_type": "application/pdf", "pages": 12}
_OFFER = {"candidate_id": "c-42", "role": "staff-engineer", "site": "london"}
_SIGNATURE = {"envelope_id": "env-c-42", "signed_by": "ada.lovelace", "signed_at": "2026-08-01T13:40:15Z"}
_EMPLOYEE = {
    "candidate_id": "c-7",
    "employment": "permanent",
    "site": "london",
    "equipment": [{"item": "monitor", "needs_approval": True}, {"item": "chair", "needs_approval": False}],
    "requires_background_check": True,
    "national_id": "AB123456C",
}
_ORDER = {
    "order_id": "o-1",
    "lines": [{"sku": "lamp", "quantity": 1}, {"sku": "bulb", "quantity": 4}],
    "total_cents": 4200,
    "card_token": "tok_visa",
}
_WITHDRAWN = "the unwind, from the journal: the undo of the first row"


def polling(*, signal: bool = False, timeout: bool = False) -> Scenario:
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


def offers(*, signal: bool = False, timeout: bool = False) -> Scenario:
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


def workflow(*, fail: bool = False) -> Scenario:
    """`employee.onboard`: everything works; or the last step fails, and everything is undone."""
    remarks = {
        "workspace.provision": "an instance of its own: a desk and a pass",
        "workspace.cancel_pass": "the child's steps, undone in its place",
        "identity.disable": "strict reverse: what came first goes last",
    }
    if not fail:
        remarks = {"workspace.provision": remarks["workspace.provision"]}
    return Scenario(
        example="workflow",
        flow_id="employee.onboard",
        title="A colleague starts, and "
        + ("at the last step it turns out that it cannot be" if fail else "all is ready"),
        request="POST /api/v1/onboarding",
        input=_EMPLOYEE,
        waits={},
        set_stage=company(closed=["welcome.send"] if fail else []),
        remarks=remarks | {"welcome.send": "fails: from here on it only goes back"} if fail else remarks,
    )


def once(*, kill: bool = False) -> Scenario:
    """`order.pay`: the processor is down twice, or the node dies between the charge and its record: one charge."""
    if kill:
        return Scenario(
            example="payments",
            flow_id="order.pay",
            title="An order is paid by a node that is killed when the card has been charged",
            request="order.pay",
            input=_ORDER,
            waits={},
            set_stage=lasting_systems,
            is_killed=True,
            remarks={"payment.capture": "entered on two nodes"},
        )
    return Scenario(
        example="payments",
        flow_id="order.pay",
        title="An order is paid through a processor that is down twice",
        request="order.pay",
        input=_ORDER,
        waits={"UNTIL_IT_ANSWERS": 'Backoff.exponential("PT1.5S", "PT2S").max_attempts(6)'},
        waits_in="capabilities.py",
        set_stage=slow_processor(down_for=2),
        remarks={"payment.capture": "entered three times; its row comes when it is done"},
    )


SCENARIOS: Mapping[str, Callable[..., Scenario]] = {
    "polling": polling,
    "offers": offers,
    "workflow": workflow,
    "once": once,
}
