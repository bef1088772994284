"""Hand-written plans: what the compiler would make of two flows, a document that is polled for and an order saga.

The world that their capabilities change is one object, so that a test sees every effect in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from flowx_runtime.authoring.authorization import Internal
from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.capabilities import capability
from flowx_runtime.authoring.contexts import StepContext
from flowx_runtime.authoring.contracts import Contract, Sensitive
from flowx_runtime.authoring.errors import FlowError
from flowx_runtime.authoring.messages import event, signal
from flowx_runtime.authoring.vocabulary import Category, Profile
from flowx_runtime.plan import (
    FORMAT,
    AwaitSignal,
    CapabilityUse,
    Delay,
    Emit,
    EventUse,
    Fail,
    Plan,
    Poll,
    SignalUse,
    Step,
)


class Submit(Contract):
    document_id: str
    note: Sensitive[str] = ""


class Job(Contract):
    job_id: str


class Status(Contract):
    state: str
    asked: int


class Fields(Contract):
    count: int


class Ticket(Contract):
    ticket: str


class Result(Contract):
    document_id: str
    fields: int


@event("document.processed", version="1.0.0")
class Processed(Contract):
    document_id: str
    fields: int


@event("document.failed", version="1.0.0")
class ProcessingFailed(Contract):
    code: str


@signal("ocr.completed")
class OcrCompleted(Contract):
    job_id: str


@signal("offer.signed")
class Signed(Contract):
    by: str


class NotInTime(FlowError, code="document.not_read_in_time", category=Category.UNAVAILABLE):
    """The provider did not read the document within the budget."""


class Refused(FlowError, code="ocr.refused", category=Category.CONFLICT):
    """The provider does not want it."""


@dataclass
class World:
    """Everything outside the engine: what was done to it, in order, and how it answers."""

    effects: list[str] = field(default_factory=list)
    contexts: list[StepContext] = field(default_factory=list)
    ready_after: int = 3
    asked: int = 0
    raising: dict[str, Exception] = field(default_factory=dict)
    hooks: dict[str, Callable[[], Any]] = field(default_factory=dict)

    def touch(self, capability_id: str, what: str, ctx: StepContext) -> None:
        if capability_id in self.hooks:
            self.hooks[capability_id]()
        if capability_id in self.raising:
            raise self.raising[capability_id]
        self.contexts.append(ctx)
        self.effects.append(f"{capability_id}({what})")


class _InWorld:
    def __init__(self, world: World) -> None:
        self.world = world


@capability("ocr.upload", version="1.0.0", authorization=Internal(), side_effects=("ocr",))
class Upload(_InWorld):
    async def execute(self, request: Submit, ctx: StepContext) -> Job:
        self.world.touch("ocr.upload", request.document_id, ctx)
        return Job(job_id=f"job-{request.document_id}")


@capability("ocr.cancel", version="1.0.0", authorization=Internal(), idempotent=True)
class Cancel(_InWorld):
    async def execute(self, request: Job, ctx: StepContext) -> None:
        self.world.touch("ocr.cancel", request.job_id, ctx)


@capability("ocr.status", version="1.0.0", authorization=Internal(), idempotent=True)
class CheckStatus(_InWorld):
    def execute(self, request: Job, ctx: StepContext) -> Status:
        self.world.touch("ocr.status", request.job_id, ctx)
        self.world.asked += 1
        state = "completed" if self.world.asked >= self.world.ready_after else "reading"
        return Status(state=state, asked=self.world.asked)


@capability("document.escalate", version="1.0.0", authorization=Internal(), idempotent=True)
class Escalate(_InWorld):
    async def execute(self, request: Job, ctx: StepContext) -> Ticket:
        self.world.touch("document.escalate", request.job_id, ctx)
        return Ticket(ticket=f"review-{request.job_id}")


@capability("document.extract", version="1.0.0", authorization=Internal(), idempotent=True)
class Extract(_InWorld):
    async def execute(self, request: Job, ctx: StepContext) -> Fields:
        self.world.touch("document.extract", request.job_id, ctx)
        return Fields(count=7)


@capability("offer.archive", version="1.0.0", authorization=Internal(), side_effects=("archive",))
class Archive(_InWorld):
    async def execute(self, request: Submit, ctx: StepContext) -> Ticket:
        self.world.touch("offer.archive", request.document_id, ctx)
        return Ticket(ticket=f"archived-{request.document_id}")


@capability("offer.unarchive", version="1.0.0", authorization=Internal(), idempotent=True)
class Unarchive(_InWorld):
    async def execute(self, request: Submit, ctx: StepContext) -> None:
        self.world.touch("offer.unarchive", request.document_id, ctx)


@capability("offer.note", version="1.0.0", authorization=Internal(), idempotent=True)
async def note_signature(request: Signed, ctx: StepContext) -> Ticket:
    return Ticket(ticket=f"{request.by}/{ctx.idempotency_key[:4]}")


CLASSES: tuple[type[_InWorld], ...] = (Upload, Cancel, CheckStatus, Escalate, Extract, Archive, Unarchive)


def use(target: Any, request: type[Any], result: type[Any] | None) -> CapabilityUse:
    declared = target.__flowx_capability__
    return CapabilityUse(
        target, declared.id, declared.version, request, result, declared.idempotent, declared.side_effects
    )


UPLOAD = use(Upload, Submit, Job)
CANCEL = use(Cancel, Job, None)
STATUS = use(CheckStatus, Job, Status)
ESCALATE = use(Escalate, Job, Ticket)
EXTRACT = use(Extract, Job, Fields)
ARCHIVE = use(Archive, Submit, Ticket)
UNARCHIVE = use(Unarchive, Submit, None)
NOTE = use(note_signature, Signed, Ticket)
OCR_SIGNAL = SignalUse(OcrCompleted, "ocr.completed")
SIGNED = SignalUse(Signed, "offer.signed")
PROCESSED = EventUse(Processed, "document.processed", "1.0.0")
FAILED_EVENT = EventUse(ProcessingFailed, "document.failed", "1.0.0")

INTERVAL = Backoff.exponential_jitter("PT5S", "PT5M")
BUDGET = timedelta(hours=4)


def plan(*nodes: Any, **changes: Any) -> Plan[Any, Any]:
    facts: dict[str, Any] = {
        "format": FORMAT,
        "flow_id": "document.process",
        "version": "1.0.0",
        "digest": "d1",
        "profile": Profile.DURABLE,
        "input": Submit,
        "output": None,
        "nodes": nodes,
    }
    return Plan(**(facts | changes))


def upload(index: int = 0) -> Step:
    return Step(index, "ocr.upload", UPLOAD, compensation=CANCEL)


def archive(index: int) -> Step:
    return Step(index, "offer.archive", ARCHIVE, compensation=UNARCHIVE)


def extract(index: int) -> Step:
    return Step(index, "document.extract", EXTRACT)


def document_plan(**changes: Any) -> Plan[Any, Any]:
    """Upload, poll with both endings and a timeout block, extract, emit, return."""
    return plan(
        upload(),
        Poll(1, lambda ctx: ctx.get(Status).state == "completed", INTERVAL, BUDGET, 5, OCR_SIGNAL),
        Step(2, "ocr.status", STATUS),
        Step(3, "document.escalate", ESCALATE),
        Fail(4, NotInTime),
        extract(5),
        Emit(6, "document.processed", PROCESSED, lambda ctx: Processed(document_id=ctx.input.document_id, fields=7)),
        **(
            {
                "output": Result,
                "returns": lambda ctx: Result(document_id=ctx.input.document_id, fields=ctx.get(Fields).count),
                "deadline": timedelta(hours=6),
            }
            | changes
        ),
    )


def plain_poll_plan(**changes: Any) -> Plan[Any, Any]:
    """A poll with neither signal nor timeout block."""
    return plan(
        upload(),
        Poll(1, lambda ctx: ctx.get(Status).state == "completed", INTERVAL, BUDGET),
        Step(2, "ocr.status", STATUS),
        extract(3),
        **changes,
    )


def saga_plan(*, has_block: bool = True, signal: SignalUse = SIGNED, **changes: Any) -> Plan[Any, Any]:
    """Two compensable steps around a wait for a person and one for the clock."""
    target = 4 if has_block else None
    block = (Step(2, "document.escalate", ESCALATE), Fail(3, NotInTime)) if has_block else ()
    after = 2 + len(block)
    return plan(
        upload(),
        AwaitSignal(1, "offer.signed", signal, timedelta(days=7), target),
        *block,
        archive(after),
        Delay(after + 1, "settling", timedelta(days=1)),
        extract(after + 2),
        Step(after + 3, "offer.note", NOTE),
        **({"output": Ticket, "returns": lambda ctx: ctx.get(Ticket)} | changes),
    )
