"""Edits of source: build, edit, build again, compare. What `flowx diff` says of real manifests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flowx_compiler.build import Build, compile_sources
from flowx_compiler.config import Config
from flowx_compiler.diff.registry import rules
from flowx_compiler.link.sources import SourceFile
from tests.diff.sample import told

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


@dataclass(frozen=True)
class Edit:
    code: str
    name: str
    old: str
    new: str
    neighbour: tuple[str, str]
    """An edit beside it that must not fire the code."""
    also: tuple[tuple[str, str], ...] = ()
    """Further replacements that the edit needs, to be one program again."""
    keeps_version: bool = False
    """The flow's version stays although its plan changes."""
    keeps_plan: bool = True
    """The retired plan module stays on disk."""
    reverse: bool = False
    """Compare the edited source with the original: the change undone."""


def _edit(source: str, *replacements: tuple[str, str]) -> str:
    for old, new in replacements:
        assert source.count(old) >= 1, f"{old!r} is not in the source: the edit would change nothing"
        source = source.replace(old, new)
    return source


@cache
def _build(source: str, existing: tuple[tuple[str, str], ...] = (), application: str = "shop") -> Build:
    config = Config(root=Path(), sources=("app",), plans="plans", application=application)
    built = compile_sources([SourceFile("shop", "shop.py", source.encode())], config, dict(existing))
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


def tell(*replacements: tuple[str, str], keeps_version: bool, keeps_plan: bool, reverse: bool) -> list[str]:
    """Numbers told of an edit; versions move as they have to, unless the edit is that they do not."""
    first = _build(SOURCE)
    moved = (*replacements, *(() if keeps_version else (MOVED, MOVED_CHILD, MOVED_COUNT, MOVED_LOOK)))
    second = _build(_edit(SOURCE, *moved), plan_modules(first) if keeps_plan else ())
    if not reverse:
        return [number for number, _ in told(manifest(first), manifest(second))]
    # Undone: the edited program is what was there, and the original what comes.
    before = _build(_edit(SOURCE, *replacements))
    after = _build(_edit(SOURCE, MOVED, MOVED_CHILD, MOVED_COUNT, MOVED_LOOK), plan_modules(before))
    return [number for number, _ in told(manifest(before), manifest(after))]


DOC = ("class Address(Contract):", 'class Address(Contract):\n    """Where to."""\n')
ORDER = ("    order_id: str\n    national_id", "    order_id: str\n    phone: str = ''\n    national_id")
EDITS = (
    Edit(
        "001",
        "a flow gets another id",
        '"order.look"',
        '"order.peek"',
        ("LookAtAJob", "LookAtOneJob"),
        keeps_version=True,
    ),
    Edit(
        "002",
        "another input",
        "Flow[PlaceOrder, OrderResult]):\n",
        "Flow[NewOrder, OrderResult]):\n",
        ("PlaceOrder", "PlaceOneOrder"),
        also=(
            ("FlowBuilder[PlaceOrder, OrderResult]", "FlowBuilder[NewOrder, OrderResult]"),
            ("def charge(request: PlaceOrder,", "def charge(request: NewOrder,"),
            ("class OrderResult", "class NewOrder(Contract):\n    order_id: str\n    extra: int\n\nclass OrderResult"),
        ),
    ),
    Edit(
        "003",
        "another output",
        "Flow[PlaceOrder, OrderResult]):\n",
        "Flow[PlaceOrder, JobState]):\n",
        ("OrderResult", "ResultOfOrder"),
        also=(
            ("FlowBuilder[PlaceOrder, OrderResult]", "FlowBuilder[PlaceOrder, JobState]"),
            ('lambda ctx: OrderResult(order_id=ctx.input.order_id, state="paid")', "lambda ctx: ctx.get(JobState)"),
        ),
    ),
    Edit(
        "004",
        "durable no more",
        '"order.look", version="1.0.0"',
        '"order.look", version="1.0.0", profile=Profile.DURABLE',
        ('owner="orders"', 'owner="sales"'),
        reverse=True,
    ),
    Edit("005", "another route", '"/orders"', '"/v2/orders"', ('time_zone="Europe/Paris"', 'time_zone="UTC"')),
    Edit("006", "unmarked", "national_id: Sensitive[str]", "national_id: str", ("zip: str", "zip: Sensitive[str]")),
    Edit("007", "a key demanded", '"/orders", idempotent=True', '"/orders"', ('"POST"', '"PUT"'), reverse=True),
    Edit("008", "no key read", '"/orders", idempotent=True', '"/orders"', ('"POST"', '"PUT"')),
    Edit(
        "010",
        "a capability renamed",
        '"mail.send"',
        '"mail.post"',
        ('"mail.send", version="1.0.0"', '"mail.send", version="1.2.0"'),
    ),
    Edit(
        "011",
        "a capability takes another contract",
        "def send_mail(request: Job,",
        "def send_mail(request: JobState,",
        ("JobState", "StateOfJob"),
        also=(('Job(job_id="x")', "JobState(done=True)"),),
    ),
    Edit(
        "012",
        "a capability gives another contract",
        ") -> Ship: ...",
        ") -> Signed: ...",
        ("JobState", "StateOfJob"),
    ),
    Edit(
        "013",
        "not idempotent any more",
        '"mail.send", version="1.0.0", authorization=Internal(), idempotent=True',
        '"mail.send", version="1.0.0", authorization=Internal()',
        ('"job.start", version="1.0.0"', '"job.start", version="1.0.1"'),
    ),
    Edit(
        "014",
        "anybody signed in",
        'Permission("orders.write")',
        "Authenticated()",
        ('Permission("orders.write")', 'Permission("orders.admin")'),
    ),
    Edit(
        "015",
        "another permission",
        'Permission("orders.write")',
        'Permission("orders.admin")',
        ("Authenticated()", "Public(approved_by='Ada')"),
    ),
    Edit(
        "016",
        "one effect more",
        'side_effects=("card",), errors',
        'side_effects=("card", "ledger"), errors',
        ('side_effects=("card",), errors', "errors"),
    ),
    Edit(
        "017",
        "a code renamed",
        '"card.declined"',
        '"card.refused"',
        ("Declined", "CardDeclined"),
    ),
    Edit(
        "018",
        "another category",
        "category=Category.CONFLICT",
        "category=Category.FORBIDDEN",
        ("Declined", "CardDeclined"),
    ),
    Edit(
        "020",
        "an event's major",
        '"order.placed", version="1.0.0"',
        '"order.placed", version="2.0.0"',
        ('"order.placed", version="1.0.0"', '"order.placed", version="1.3.0"'),
    ),
    Edit(
        "021",
        "no longer awaited",
        '        flow.await_signal(Signed, timeout="P7D").on_timeout(lambda late: late.fail(TooLate))\n',
        "",
        ('timeout="P7D"', 'timeout="P8D"'),
    ),
    Edit(
        "022",
        "a poll accepts a signal",
        'timeout="PT4H",\n        )',
        'timeout="PT4H",\n        ).or_signal(Finished)',
        ('timeout="PT4H"', 'timeout="PT5H"'),
    ),
    Edit(
        "030",
        "a required field",
        "    order_id: str\n    national_id",
        "    order_id: str\n    phone: str\n    national_id",
        ORDER,
    ),
    Edit("031", "a field less", "    note: str | None = None\n", "", ORDER),
    Edit(
        "032",
        "null refused",
        "note: str | None = None",
        "note: str = ''",
        ("note: str | None", "note: str | int | None"),
    ),
    Edit(
        "033",
        "an event's field less",
        "    order_id: str\n    address: str\n",
        "    order_id: str\n",
        ORDER,
        also=((', address="x"', ""),),
    ),
    Edit("034", "an output may be more", 'Literal["paid", "refused"]', 'Literal["paid", "refused", "parked"]', ORDER),
    Edit(
        "035",
        "undone no more",
        "flow.step(charge).compensate_with(refund)",
        "flow.step(charge)",
        (".compensate_with(refund)", '.compensate_with(refund).named("pay")'),
    ),
    Edit(
        "036",
        "a fork asks less",
        "Merge.ALL_MUST_SUCCEED",
        "Merge.ALL_SETTLED",
        ("flow.parallel(audit, send_mail,", "flow.parallel(send_mail, audit,"),
    ),
    Edit(
        "040",
        "steps under one version",
        "        flow.step(start_job)\n",
        '        flow.step(start_job).named("begin")\n',
        ("        flow.step(start_job)\n", '        flow.step(start_job).named("begin")\n'),
        keeps_version=True,
    ),
    Edit(
        "041",
        "the old plan deleted",
        *MOVED,
        ("        flow.step(start_job)\n", '        flow.step(start_job).named("begin")\n'),
        keeps_plan=False,
        keeps_version=True,
    ),
    Edit(
        "100",
        "a flow gets another id",
        '"order.look"',
        '"order.peek"',
        ("LookAtAJob", "LookAtOneJob"),
        keeps_version=True,
    ),
    Edit(
        "101",
        "a capability renamed",
        '"mail.send"',
        '"mail.post"',
        ('"mail.send", version="1.0.0"', '"mail.send", version="1.2.0"'),
    ),
    Edit(
        "102",
        "an event's major",
        '"order.placed", version="1.0.0"',
        '"order.placed", version="2.0.0"',
        ('"order.placed", version="1.0.0"', '"order.placed", version="1.3.0"'),
    ),
    Edit("103", "another route", '"/orders"', '"/v2/orders"', ('"/orders", idempotent=True', '"/orders"')),
    Edit("104", "a code more", "errors=(Declined,)", "errors=(Declined, TooLate)", ("Declined", "CardDeclined")),
    Edit(
        "105",
        "idempotent now",
        '"job.start", version="1.0.0", authorization=Authenticated()',
        '"job.start", version="1.0.0", authorization=Authenticated(), idempotent=True',
        ('"use job.begin"', '"use job.run"'),
    ),
    Edit(
        "106",
        "an effect less",
        'side_effects=("card",), errors',
        "errors",
        ('side_effects=("card",), errors', 'side_effects=("card", "ledger"), errors'),
    ),
    Edit("107", "marked", "street: str", "street: Sensitive[str]", ("national_id: Sensitive[str]", "national_id: str")),
    Edit("110", "an optional field", *ORDER, ("hint: str", "hint: str = ''\n    other: str")),
    Edit("111", "an output's field", 'hint: str = ""', 'hint: str = ""\n    other: str = ""', ORDER),
    Edit(
        "112",
        "relaxed",
        "note: str | None",
        "note: str | int | None",
        ('Literal["paid", "refused"]', 'Literal["paid"]'),
    ),
    Edit(
        "113",
        "undone now",
        "flow.step(charge).compensate_with(refund)",
        "flow.step(charge)",
        (".compensate_with(refund)", '.compensate_with(refund).named("pay")'),
        reverse=True,
    ),
    Edit(
        "114",
        "an output is less",
        'Literal["paid", "refused"]',
        'Literal["paid"]',
        ("note: str | None", "note: str | int | None"),
    ),
    Edit(
        "202",
        "durable now",
        '"order.look", version="1.0.0"',
        '"order.look", version="1.0.0", profile=Profile.DURABLE',
        ('owner="orders"', 'owner="sales"'),
    ),
    Edit("203", "another deadline", '"P30D"', '"P31D"', ('timeout="P7D"', 'timeout="P8D"')),
    Edit(
        "204",
        "another notice",
        '"use job.begin"',
        '"use job.run"',
        ("authorization=Authenticated(), errors=()", "authorization=Internal(), errors=()"),
    ),
    Edit("205", "another zone", '"Europe/Paris"', '"UTC"', ('"0 2 * * *"', '"0 3 * * *"')),
    Edit("206", "another window", 'timeout="P7D"', 'timeout="P8D"', ('timeout="PT4H"', 'timeout="PT5H"')),
    Edit("210", "a class renamed", "OrderResult", "ResultOfOrder", ORDER),
    Edit(
        "212",
        "steps under a new version",
        "        flow.step(start_job)\n",
        '        flow.step(start_job).named("begin")\n',
        DOC,
    ),
)
ELSEWHERE = {
    "009": "no trigger of an agent can be written yet",
    "108": "no trigger of an agent can be written yet",
    "019": "see test_a_catalogue_that_cannot_be_followed",
    "200": "needs a manifest of another schema",
    "201": "see test_another_application",
    "211": "see test_a_contract_whose_shape_cannot_be_derived",
}


def test_every_code_is_fired_from_source_or_says_why_not() -> None:
    assert {edit.code for edit in EDITS} | ELSEWHERE.keys() == {rule.number for rule in rules()}


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit.code} {edit.name}")
def test_an_edit_of_source_fires_the_code_and_its_neighbour_does_not(edit: Edit) -> None:
    options = {"keeps_version": edit.keeps_version, "keeps_plan": edit.keeps_plan, "reverse": edit.reverse}
    assert edit.code in tell((edit.old, edit.new), *edit.also, **options)
    assert edit.code not in tell(edit.neighbour, keeps_version=False, keeps_plan=True, reverse=False)


def test_a_build_against_itself_is_silent() -> None:
    built = manifest(_build(SOURCE))
    assert told(built, built) == []


def test_documentation_order_and_place_are_silent() -> None:
    first, second = _build(SOURCE), _build("# a comment\n\n" + _edit(SOURCE, DOC))
    assert told(manifest(first), manifest(second)) == []


def test_another_application() -> None:
    assert [number for number, _ in told(manifest(_build(SOURCE)), manifest(_build(SOURCE, (), "bank")))] == ["201"]


def test_a_catalogue_that_cannot_be_followed() -> None:
    unfollowed = _edit(
        SOURCE,
        ('side_effects=("card",), errors=(Declined,)', 'side_effects=("card",)'),
        ("-> Receipt: ...", "-> Receipt:\n    problem = request.order_id\n    raise problem"),
    )
    found = told(manifest(_build(SOURCE)), manifest(_build(unfollowed)))
    assert ("019", "capability card.charge@1") in found
    assert "017" not in dict(found)


def test_a_contract_whose_shape_cannot_be_derived() -> None:
    foreign = _edit(
        SOURCE,
        ("from typing import Literal\n", "from typing import Literal\n\nfrom elsewhere import Weight\n"),
        ("    street: str\n", "    street: str\n    weight: Weight\n"),
    )
    numbers = {number for number, _ in told(manifest(_build(SOURCE)), manifest(_build(foreign)))}
    assert "211" in numbers
    assert not numbers & {"031", "032", "033", "034"}


def test_steps_edited_under_a_new_version_leave_the_old_plan_loadable() -> None:
    first = _build(SOURCE)
    edited = _edit(SOURCE, MOVED, MOVED_CHILD, ("flow.step(start_job)", 'flow.step(start_job).named("begin")'))
    second = _build(edited, plan_modules(first))
    assert {"plans/order_place_v1_0_0.py", "plans/order_place_v1_1_0.py"} <= second.files.keys()
    assert told(manifest(first), manifest(second)) == [("212", "flow order.place@1")]
    third = _build(edited, plan_modules(second))
    assert told(manifest(second), manifest(third)) == []


def test_a_class_moved_to_another_module_is_silent_but_for_its_contracts() -> None:
    """F12 for real: a capability keeps its id and version wherever its class is."""
    flows = SOURCE.replace("from typing import Literal\n", "from typing import Literal\n\nfrom mail import send_mail\n")
    start = flows.index('@capability("mail.send"')
    end = flows.index("@flow(", start)
    mail = (
        "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n\n"
        "from flowx_runtime import Internal, StepContext, capability\n\n"
        "if TYPE_CHECKING:\n    from shop import Job, Ship\n\n" + flows[start:end]
    )
    files = [
        SourceFile("shop", "shop.py", (flows[:start] + flows[end:]).encode()),
        SourceFile("mail", "mail.py", mail.encode()),
    ]
    moved = compile_sources(files, CONFIG, {})
    assert not moved.has_errors, [finding.message for finding in moved.findings]
    before, after = manifest(_build(SOURCE)), manifest(moved)
    assert before != after
    assert [item for item in told(before, after) if item[0] != "040"] == []
