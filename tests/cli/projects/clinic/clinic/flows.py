"""Flows that wait, that are stuck going back, and that try again later. `CLINIC_DOWN` says what is out of order."""

from __future__ import annotations

import os

from clinic.contracts import PATIENT, Away, Bill, Consent, Letter, Patient, Person, Record, Refused, VisitClosed
from flowx_runtime import Backoff, Flow, FlowBuilder, Internal, Profile, StepContext, capability, flow, http_trigger


def is_down(what: str) -> bool:
    return what in os.environ.get("CLINIC_DOWN", "").split()


@capability("record.open", version="1.0.0", authorization=Internal(), side_effects=("records",))
async def open_record(request: Patient, ctx: StepContext) -> Record:
    if is_down("record.open"):
        raise Away(f"nobody opens a record for {request.national_id}")
    return Record(record_id="r-1")


@capability("record.close", version="1.0.0", authorization=Internal(), idempotent=True)
async def close_record(request: Record, ctx: StepContext) -> None:
    if is_down("record.close"):
        raise Away("the archive does not answer")


@capability("bill.make", version="1.0.0", authorization=Internal(), idempotent=True)
async def make_bill(request: Person, ctx: StepContext) -> Bill:
    if is_down("bill.make"):
        raise Refused(f"no cover for {request.name}")
    return Bill(total=7)


@capability("lab.ask", version="1.0.0", authorization=Internal(), idempotent=True)
async def ask_lab(request: Person, ctx: StepContext) -> Letter:
    if is_down("lab.ask"):
        raise Away("the laboratory does not answer")
    return Letter(sent=True)


@capability("letter.send", version="1.0.0", authorization=Internal(), idempotent=True)
async def send_letter(request: Person, ctx: StepContext) -> Letter:
    def send() -> bool:
        if is_down("letter.send"):
            raise Away("the post does not answer")
        return True

    await ctx.once("write", lambda: "a letter")
    return Letter(sent=await ctx.once("send", send, retry=Backoff.exponential_jitter("PT2H", "PT2H").max_attempts(3)))


@flow("visit.plan", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
@http_trigger("POST", "/api/v1/visits")
class PlanVisit(Flow[Patient, Bill]):
    """Waits for consent between a step with an undo and one that may fail."""

    def define(self, flow: FlowBuilder[Patient, Bill]) -> None:
        flow.step(open_record).compensate_with(close_record)
        flow.await_signal(Consent, timeout="P7D")
        flow.step(make_bill, lambda ctx: Person(name=ctx.input.name))
        flow.emit(VisitClosed, lambda ctx: VisitClosed(name=ctx.input.name, note=ctx.get(Consent).by))
        flow.returns(lambda ctx: ctx.get(Bill))


@flow("lab.order", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
class OrderLab(Flow[Patient, Letter]):
    """A step that is tried again hours later."""

    def define(self, flow: FlowBuilder[Patient, Letter]) -> None:
        flow.step(ask_lab, lambda ctx: Person(name=ctx.input.name)).with_policy(PATIENT)
        flow.returns(lambda ctx: ctx.get(Letter))


@flow("letter.write", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
class WriteLetter(Flow[Patient, Letter]):
    """A step inside a capability that is tried again hours later."""

    def define(self, flow: FlowBuilder[Patient, Letter]) -> None:
        flow.step(send_letter, lambda ctx: Person(name=ctx.input.name))
        flow.returns(lambda ctx: ctx.get(Letter))


@flow("family.visit", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
class FamilyVisit(Flow[Patient, Bill]):
    """Waits for the flow it runs."""

    def define(self, flow: FlowBuilder[Patient, Bill]) -> None:
        flow.sub_flow(PlanVisit, lambda ctx: ctx.input)
        flow.returns(lambda ctx: ctx.get(Bill))


@flow("bill.print", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class PrintBill(Flow[Patient, Bill]):
    """Uses nothing of what being durable gives."""

    def define(self, flow: FlowBuilder[Patient, Bill]) -> None:
        flow.step(make_bill, lambda ctx: Person(name=ctx.input.name))
        flow.returns(lambda ctx: ctx.get(Bill))
