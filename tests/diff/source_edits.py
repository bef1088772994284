"""For every code: an edit of source that must fire it, and one beside it that must not."""

from __future__ import annotations

from dataclasses import dataclass

from tests.diff.source import MOVED


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
    application: str = "shop"
    """The name the edited source is built under."""
    neighbour_also: tuple[tuple[str, str], ...] = ()
    """Further replacements that the neighbour needs."""


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
        ("errors=(Declined,)", "errors=(Declined, TooLate)"),
    ),
    Edit(
        "018",
        "another category",
        "category=Category.CONFLICT",
        "category=Category.FORBIDDEN",
        ('"card.declined"', '"card.refused"'),
    ),
    Edit(
        "019",
        "a catalogue that cannot be followed",
        'side_effects=("card",), errors=(Declined,)',
        'side_effects=("card",)',
        ("errors=(Declined,)", "errors=()"),
        also=(("-> Receipt: ...", "-> Receipt:\n    problem = request.order_id\n    raise problem"),),
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
    Edit(
        "104",
        "a code more",
        "errors=(Declined,)",
        "errors=(Declined, TooLate)",
        ("category=Category.CONFLICT", "category=Category.FORBIDDEN"),
    ),
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
        "201",
        "another application",
        '"P30D"',
        '"P31D"',
        ('owner="orders"', 'owner="sales"'),
        application="bank",
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
        "211",
        "a type that cannot be read",
        "    street: str\n",
        "    street: Weight\n",
        ("    street: str\n", "    street: int\n"),
        also=(("from typing import Literal\n", "from typing import Literal\n\nfrom elsewhere import Weight\n"),),
    ),
    Edit(
        "212",
        "steps under a new version",
        "        flow.step(start_job)\n",
        '        flow.step(start_job).named("begin")\n',
        DOC,
    ),
)
NOT_FROM_SOURCE = {
    "009": "no trigger of an agent can be written yet",
    "108": "no trigger of an agent can be written yet",
    "200": "every manifest written so far has one schema major",
}
"""Codes that only documents from elsewhere can fire, and why."""
