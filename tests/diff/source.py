"""A program with a bit of everything, and builds of edits of it, in this process."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from flowx_compiler.build import Build, compile_sources
from flowx_compiler.config import Config
from flowx_compiler.link.sources import SourceFile
from flowx_compiler.model import Program
from flowx_compiler.rules.run import judge
from flowx_compiler.verdict import Verdict

ROOT = Path(__file__).parents[2]
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "schemas" / "flowx.manifest.schema.json").read_text("utf-8"))
)
CONFIG = Config(root=Path(), sources=("app",), plans="plans", application="shop")
SOURCE = """\
from typing import Literal

from flowx_runtime import (
    Authenticated, Backoff, Category, Contract, Flow, FlowBuilder, FlowError, Internal, Merge, Permission, Profile,
    Public, ScheduledFire, Sensitive, StepContext, SubFlowMode, capability, cron_trigger, event, flow, http_trigger,
    signal,
)

class Address(Contract):
    street: str
    zip: str = ""

class PlaceOrder(Contract):
    order_id: str
    national_id: Sensitive[str]
    ship_to: Address
    note: str | None = None

class OrderResult(Contract):
    order_id: str
    state: Literal["paid", "refused"]
    hint: str = ""

class Charge(Contract):
    order_id: str

class Receipt(Contract):
    number: str

class Job(Contract):
    job_id: str

class JobState(Contract):
    done: bool

class Ship(Contract):
    order_id: str

@event("order.placed", version="1.0.0")
class OrderPlaced(Contract):
    order_id: str
    address: str

@signal("order.signed")
class Signed(Contract):
    by: str

@signal("job.finished")
class Finished(Contract):
    done: bool

class TooLate(FlowError, code="order.too_late", category=Category.UNAVAILABLE):
    message = "Too late."

class Declined(FlowError, code="card.declined", category=Category.CONFLICT):
    message = "The card was declined."

@capability(
    "card.charge", version="1.0.0", authorization=Permission("orders.write"), side_effects=("card",), errors=(Declined,)
)
async def charge(request: PlaceOrder, ctx: StepContext) -> Receipt: ...

@capability("card.refund", version="1.0.0", authorization=Internal(), idempotent=True, side_effects=("card",))
async def refund(request: Receipt, ctx: StepContext) -> None: ...

@capability("job.start", version="1.0.0", authorization=Authenticated(), errors=(), deprecated="use job.begin")
async def start_job(request: Receipt, ctx: StepContext) -> Job: ...

@capability("job.state", version="1.0.0", authorization=Internal(), idempotent=True)
async def job_state(request: Job, ctx: StepContext) -> JobState: ...

@capability("job.audit", version="1.0.0", authorization=Internal(), idempotent=True)
async def audit(request: Job, ctx: StepContext) -> Charge: ...

@capability("mail.send", version="1.0.0", authorization=Internal(), idempotent=True)
async def send_mail(request: Job, ctx: StepContext) -> Ship: ...

@flow("order.look", version="1.0.0")
class LookAtAJob(Flow[Job, JobState]):
    def define(self, flow: FlowBuilder[Job, JobState]) -> None:
        flow.step(job_state)
        flow.returns(lambda ctx: ctx.get(JobState))

@flow("order.count", version="1.0.0", profile=Profile.DURABLE)
@cron_trigger("0 2 * * *", time_zone="Europe/Paris")
class CountOrders(Flow[ScheduledFire, None]):
    def define(self, flow: FlowBuilder[ScheduledFire, None]) -> None:
        flow.step(send_mail, lambda ctx: Job(job_id="x"))

@flow("order.ship", version="1.0.0", profile=Profile.DURABLE)
class ShipAnOrder(Flow[Ship, None]):
    def define(self, flow: FlowBuilder[Ship, None]) -> None:
        flow.emit(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.input.order_id, address="x"))

@flow("order.place", version="1.0.0", profile=Profile.DURABLE, owner="orders", deadline="P30D")
@http_trigger("POST", "/orders", idempotent=True)
class PlaceAnOrder(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(charge).compensate_with(refund)
        flow.step(start_job)
        flow.await_signal(Signed, timeout="P7D").on_timeout(lambda late: late.fail(TooLate))
        flow.poll_until(
            job_state,
            until=lambda ctx: ctx.get(JobState).done,
            interval=Backoff.exponential_jitter("PT1S", "PT1M"),
            timeout="PT4H",
        ).on_timeout(lambda late: late.fail(TooLate))
        flow.parallel(audit, send_mail, merge=Merge.ALL_MUST_SUCCEED)
        flow.sub_flow(ShipAnOrder, lambda ctx: Ship(order_id=ctx.input.order_id))
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id, state="paid"))
"""


def edit(source: str, *replacements: tuple[str, str]) -> str:
    for old, new in replacements:
        assert source.count(old) >= 1, f"{old!r} is not in the source: the edit would change nothing"
        source = source.replace(old, new)
    return source


def _judge(program: Program) -> Verdict:
    """Manifests are compared here: a class may be renamed under a retired plan, which a build would refuse."""
    kept = tuple(problem for problem in program.problems if problem.id != "FLOWX1304")
    return judge(replace(program, problems=kept))


@cache
def build(source: str, existing: tuple[tuple[str, str], ...] = (), application: str = "shop") -> Build:
    config = replace(CONFIG, application=application)
    built = compile_sources([SourceFile("shop", "shop.py", source.encode())], config, dict(existing), judge=_judge)
    assert not built.has_errors, [f"{finding.id} {finding.message}" for finding in built.findings]
    return built


def manifest(built: Build) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(built.files["flowx.manifest.json"])
    SCHEMA.validate(document)
    return document


def plan_modules(built: Build) -> tuple[tuple[str, str], ...]:
    return tuple((Path(path).stem, text) for path, text in built.files.items() if "_v" in path)


MOVED = ('"order.place", version="1.0.0"', '"order.place", version="1.1.0"')
MOVED_COUNT = ('"order.count", version="1.0.0"', '"order.count", version="1.0.1"')
MOVED_LOOK = ('"order.look", version="1.0.0"', '"order.look", version="1.0.1"')
MOVED_CHILD = ('"order.ship", version="1.0.0"', '"order.ship", version="1.0.1"')
