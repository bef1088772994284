"""What builder calls and decorators are given: what cannot be is one problem, what can be is understood."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flowx_compiler.model import AwaitSignal, Delay, ForEach, Poll, Step
from tests.compiler.order_flows import DECORATOR, link_flow

STEP = "flow.step(validate_order)"
REVIEW = "lambda b: b.step(open_review)"
MODULE = """
NUMBER = 5
SHORT = "PT5S"
SAME = SHORT
LOOP = LOOP or 1
NEVER = NEVER.max_attempts(2)
PACE = Backoff.fixed("PT5S")
PACE_AGAIN = PACE
COUNT = 3
AUTHORIZATION = Internal()
ERRORS = (OutOfStock, TooLate)
class Settings:
    WAIT = "PT7S"
def made():
    return PACE
def selected(ctx) -> list[Line]:
    return []
def answered(ctx) -> bool:
    return True
async def later(ctx) -> bool:
    return True
def generated(ctx):
    yield True
class Plain:
    def method(self, ctx):
        return True
alias = validate_order
"""


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("5", "1222"),
        ("NUMBER", "1222"),
        ("True", "1222"),
        ("60 * 60", "1222"),
        ("int(7)", "1222"),
        ("None", "1222"),
        ("lambda: 1", "1222"),
        ("'5 seconds'", "1222"),
        ("'P1M'", "1222"),
        ("JITTERED", "1222"),
        ("OrderResult", "1222"),
        ("datetime.now()", "1222"),
        ("'PT0S'", "1223"),
        ("timedelta(days=-1)", "1223"),
        ("nowhere", "1275"),
        ("timedelta(days=nowhere)", "1275"),
        ("shop.nowhere", "1275"),
    ],
)
def test_a_wait_is_given_a_positive_duration(argument: str, problem: str) -> None:
    linked = link_flow(f"flow.await_signal(PaymentConfirmed, timeout={argument})", MODULE)

    assert [found.id[5:] for found in linked.ordered] == [problem]
    assert not linked.flow.is_sound


@pytest.mark.parametrize(
    ("argument", "folded"),
    [
        ("'PT5S'", timedelta(seconds=5)),
        ("'PT' '5S'", timedelta(seconds=5)),
        ("SHORT", timedelta(seconds=5)),
        ("Settings.WAIT", timedelta(seconds=7)),
        ("timedelta(1, minutes=2)", timedelta(days=1, minutes=2)),
        ("timedelta(days=COUNT)", timedelta(days=3)),
        ("timedelta(days=int('7'))", None),
        ("timedelta(days=1) * COUNT", None),
        ("SAME", None),
        ("LOOP", None),
        ("f'PT{COUNT}S'", None),
        ("SHORT if COUNT else 'PT6S'", None),
    ],
)
def test_a_duration_folds_or_is_left_to_the_rule_of_unpublished_waits(argument: str, folded: timedelta | None) -> None:
    linked = link_flow(f"flow.delay({argument})", MODULE)
    (delay,) = linked.flow.body.constructs

    assert linked.problems == []
    assert isinstance(delay, Delay)
    assert delay.duration.folded == folded


@pytest.mark.parametrize(
    ("argument", "problem"),
    [
        ("'PT5S'", "1224 'PT5S'"),
        ("timedelta(1)", "1224 timedelta(1)"),
        ("Backoff", "1224 Backoff"),
        ("Backoff.fixed", "1224 Backoff.fixed"),
        ("Backoff.linear('PT5S')", "1224 linear"),
        ("Backoff.fixed('PT5S').forever()", "1224 forever"),
        ("Backoff.exponential('PT5S', 'PT1S')", "1224 'PT1S'"),
        ("SAFE_RETRY", "1224 SAFE_RETRY"),
        ("Backoff.fixed(5)", "1222 5"),
        ("Backoff.fixed('soon')", "1222 'soon'"),
        ("Backoff.fixed('PT0S')", "1223 'PT0S'"),
        ("Backoff.fixed('PT5S').max_attempts(0)", "1225 0"),
        ("Backoff.fixed('PT5S').max_attempts(True)", "1225 True"),
        ("Backoff.fixed()", "1220 fixed"),
        ("Backoff.fixed('PT5S', 'PT6S')", "1221 'PT6S'"),
        ("nowhere", "1275 nowhere"),
    ],
)
def test_a_poll_is_given_a_backoff_and_what_is_wrong_with_it_is_said_where_it_is_written(
    argument: str, problem: str
) -> None:
    linked = link_flow(poll(argument), MODULE)

    assert linked.problems == [problem]


@pytest.mark.parametrize(
    ("argument", "folds"),
    [
        ("PACE", True),
        ("shop.JITTERED", True),
        ("PACE.max_attempts(COUNT)", True),
        ("Backoff.exponential(base='PT5S', ceiling=SHORT)", True),
        ("PACE_AGAIN", False),
        ("NEVER", False),
        ("made()", False),
    ],
)
def test_a_backoff_folds_one_hop_and_is_believed_beyond(argument: str, folds: bool) -> None:
    linked = link_flow(poll(argument), MODULE)
    (found,) = linked.flow.body.constructs

    assert linked.problems == []
    assert isinstance(found, Poll)
    assert (found.interval.folded is not None) == folds


def poll(interval: str) -> str:
    return f"flow.poll_until(job_status, until=lambda ctx: True, interval={interval}, timeout='PT1H')"


def test_a_mistake_in_a_shared_constant_is_said_once_and_there() -> None:
    linked = link_flow(f"{poll('SLOW')}\n{poll('SLOW')}", "SLOW = Backoff.fixed(5)\n")

    assert linked.problems == ["1222 5"]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("flow.step()", "1220 step"),
        ("flow.step(capability=validate_order)", "1221 validate_order"),
        ("flow.step(validate_order, None, 3)", "1221 3"),
        ("flow.await_signal(PaymentConfirmed)", "1220 await_signal"),
        ("flow.await_signal(PaymentConfirmed, 'P1D')", "1221 'P1D'"),
        ("flow.await_signal(PaymentConfirmed, time_out='P1D')", "1221 'P1D'"),
        ("flow.await_signal(PaymentConfirmed, timeout='P1D', timeout='P2D')", "1221 'P2D'"),
        ("flow.emit(OrderPlaced)", "1220 emit"),
        ("flow.parallel()", "1220 parallel"),
        ("flow.parallel(start_job, merg=Merge.ALL_SETTLED)", "1221 Merge.ALL_SETTLED"),
        ("flow.parallel(start_job, merge='all')", "1228 'all'"),
        ("flow.parallel(start_job, merge=Merge.SOME)", "1228 Merge.SOME"),
        ("flow.parallel(start_job, open_review, merge=Merge.quorum(3))", "1229 Merge.quorum(3)"),
        ("flow.parallel(start_job, open_review, merge=Merge.quorum(0))", "1229 Merge.quorum(0)"),
        (f"flow.for_each(selected, {REVIEW}, max_concurrency=0)", "1225 0"),
        (f"flow.for_each(selected, {REVIEW}, max_concurrency=65)", "1225 65"),
        (f"flow.for_each(selected, {REVIEW}, max_concurrency=True)", "1225 True"),
        (f"flow.for_each(selected, {REVIEW}, continue_on_error=1)", "1228 1"),
        ("flow.step('order.validate')", "1233 'order.validate'"),
        ("flow.step(validate_order())", "1233 validate_order()"),
        ("flow.step(OrderResult)", "1002 OrderResult"),
        ("flow.step(nowhere)", "1275 nowhere"),
        ("flow.step(shop.nowhere)", "1275 nowhere"),
        ("flow.step(flow)", "1266 flow"),
        ("flow.fail(OutOfStock())", "1233 OutOfStock()"),
        ("flow.fail(ValueError)", "1232 ValueError"),
        ("flow.emit(OrderResult, lambda ctx: OrderResult(order_id='1'))", "1246 OrderResult"),
        ("flow.await_signal(OrderResult, timeout='P1D')", "1247 OrderResult"),
        ("flow.sub_flow(OrderResult, lambda ctx: ctx.input)", "1026 OrderResult"),
        ("flow.sub_flow(OrderFlow, lambda ctx: ctx.input, mode='inline')", "1228 'inline'"),
        (f"{STEP}.with_policy(PolicySet('x'))", "1249 PolicySet('x')"),
        (f"{STEP}.with_policy(JITTERED)", "1249 JITTERED"),
        (f"{STEP}.with_policy(nowhere)", "1275 nowhere"),
        (f"{STEP}.named('')", "1234 ''"),
        (f"{STEP}.named(SHORT)", "1234 SHORT"),
        ("flow.when(lambda ctx: True, nowhere)", "1275 nowhere"),
    ],
)
def test_a_call_is_given_what_it_takes(call: str, problem: str) -> None:
    linked = link_flow(call, MODULE)

    assert linked.problems == [problem]
    assert not linked.flow.is_sound


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("True", "1260 True"),
        ("answered(1)", "1260 answered(1)"),
        ("partial(answered, 1)", "1260 partial(answered, 1)"),
        ("Plain", "1260 Plain"),
        ("Plain.method", "1260 Plain.method"),
        ("lambda: True", "1261 lambda: True"),
        ("lambda a, b: True", "1261 lambda a, b: True"),
        ("lambda ctx=1: True", "1261 lambda ctx=1: True"),
        ("lambda *ctx: True", "1261 lambda *ctx: True"),
        ("lambda *, ctx: True", "1261 lambda *, ctx: True"),
        ("later", "1262 later"),
        ("generated", "1262 generated"),
        ("lambda ctx: (yield)", "1262 lambda ctx: (yield)"),
        ("lambda ctx: flow", "1266 flow"),
        ("lambda ctx: nowhere", "1275 nowhere"),
        ("lambda ctx: shop.nowhere(ctx)", "1275 nowhere"),
        ("lambda ctx: [x for x in ctx.input.lines if y]", "1275 y"),
    ],
)
def test_a_predicate_is_a_function_of_the_context_alone(function: str, problem: str) -> None:
    linked = link_flow(f"flow.when({function}, {REVIEW})", MODULE)

    assert linked.problems == [problem]


@pytest.mark.parametrize(
    "function",
    [
        "answered",
        "lambda ctx, /: True",
        "lambda ctx: ctx.input.total > COUNT",
        "lambda ctx: (y := ctx.input.total) > 3 and y < 9",
        "lambda ctx: any(line.quantity > 1 for line in ctx.input.lines)",
        "lambda ctx: sorted(ctx.input.lines, key=lambda line: line.sku)[0].quantity > Settings.WAIT.count('P')",
        "lambda ctx: shop.Channel.RETAIL is ctx.input.channel",
    ],
)
def test_what_a_predicate_binds_itself_or_takes_from_its_module_is_known(function: str) -> None:
    assert link_flow(f"flow.when({function}, {REVIEW})", MODULE).problems == []


@pytest.mark.parametrize(
    ("selector", "item"),
    [
        ("lambda ctx: ctx.input.lines", "shop.Line"),
        ("lambda ctx: ctx.input.lines[1:]", "shop.Line"),
        ("lambda ctx: list(ctx.input.lines)", "shop.Line"),
        ("lambda ctx: [line for line in ctx.input.lines if line.quantity]", "shop.Line"),
        ("lambda ctx: tuple(line for line in ctx.input.lines)", "shop.Line"),
        ("lambda ctx: [OrderResult(order_id=line.sku) for line in ctx.input.lines]", "shop.OrderResult"),
        ("lambda ctx: [Line(sku=a, quantity=b) for a in 'ab' for b in (1, 2)]", "shop.Line"),
        ("lambda ctx: ctx.input.lines if ctx.input.express else ()", "shop.Line"),
        ("lambda ctx: ctx.input.lines or ()", "shop.Line"),
        ("lambda ctx: ctx.results(LineReserved)", "shop.LineReserved"),
        ("lambda ctx: selected(ctx)", "shop.Line"),
        ("selected", "shop.Line"),
    ],
)
def test_the_element_of_a_loop_is_told_from_annotations(selector: str, item: str) -> None:
    linked = link_flow(f"flow.for_each({selector}, {REVIEW})", MODULE)
    (loop,) = linked.flow.body.constructs

    assert linked.problems == []
    assert isinstance(loop, ForEach)
    assert loop.item.name == item


@pytest.mark.parametrize(
    "selector",
    [
        "lambda ctx: (line for line in ctx.input.lines)",
        "lambda ctx: set(ctx.input.lines)",
        "lambda ctx: filter(None, ctx.input.lines)",
        "lambda ctx: ctx.input.order_id",
        "answered",
    ],
)
def test_a_loop_is_given_a_materialised_sequence(selector: str) -> None:
    assert link_flow(f"flow.for_each({selector}, {REVIEW})", MODULE).problems == [f"1245 {selector}"]


@pytest.mark.parametrize(
    ("selector", "value", "problem"),
    [
        ("ctx.input.channel", "Channel.RETAIL", None),
        ("ctx.input.channel", "Channel.NOWHERE", "1226"),
        ("ctx.input.channel", "'retail'", "1226"),
        ("ctx.input.total", "1", None),
        ("ctx.input.total", "-1", None),
        ("ctx.input.total", "COUNT", None),
        ("ctx.input.total", "True", "1226"),
        ("ctx.input.total", "1.0", "1226"),
        ("ctx.input.express", "True", None),
        ("ctx.input.express", "1", "1226"),
        ("ctx.input.order_id", "'a'", None),
        ("ctx.input.order_id", "None", "1226"),
        ("ctx.input.order_id", "made()", "1226"),
        ("made()", "'anything'", None),
    ],
)
def test_a_case_has_a_value_that_the_selector_can_give(selector: str, value: str, problem: str | None) -> None:
    linked = link_flow(f"flow.switch(lambda ctx: {selector}).case({value}, {REVIEW})", MODULE)

    assert linked.problems == ([] if problem is None else [f"{problem} {value}"])


def test_a_second_case_of_one_value_is_a_warning() -> None:
    linked = link_flow(f"flow.switch(lambda ctx: ctx.input.total).case(1, {REVIEW}).case(1, {REVIEW})")

    assert linked.problems == ["1227 1"]
    assert linked.flow.is_sound


def test_no_request_is_the_same_as_none_given() -> None:
    linked = link_flow("flow.step(validate_order, None)")
    (step,) = linked.flow.body.constructs

    assert linked.problems == []
    assert isinstance(step, Step)
    assert step.request is None


def test_a_capability_may_have_another_name_in_its_module() -> None:
    linked = link_flow("flow.step(alias)", MODULE)
    (step,) = linked.flow.body.constructs

    assert linked.problems == []
    assert isinstance(step, Step)
    assert step.capability.capability.name == "shop.validate_order"


@pytest.mark.parametrize(
    ("decorator", "problem"),
    [
        ('@flow("a.b")', '1220 flow("a.b")'),
        ('@flow("a.b", version=1)', "1230 1"),
        ('@flow("", version="1.0.0")', '1230 ""'),
        ('@flow("a.b", version="1.0.0", profile="durable")', '1230 "durable"'),
        ('@flow("a.b", version="1.0.0", deadline=5)', "1230 5"),
        ('@flow("a.b", version="1.0.0", deadline="PT0S")', '1223 "PT0S"'),
        ('@flow("a.b", "1.0.0")', '1221 "1.0.0"'),
        ("@flow", "1231 flow"),
        (f"{DECORATOR}\n{DECORATOR}", f"1231 {DECORATOR[1:]}"),
    ],
)
def test_a_flow_s_decorator_is_constant(decorator: str, problem: str) -> None:
    linked = link_flow(STEP, decorator=decorator)

    assert linked.problems == [problem]


def test_what_is_wrong_in_a_definition_does_not_hide_behind_its_decorator() -> None:
    linked = link_flow("flow.stepp(validate_order)", decorator='@flow("a.b", version=1)')

    assert linked.problems == ["1230 1", "1201 stepp"]


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("class OrderFlow(Flow):", "1243 OrderFlow"),
        ("class OrderFlow(Flow[PlaceOrder]):", "1243 OrderFlow"),
        ("class OrderFlow(Flow[int, OrderResult]):", "1243 int"),
        ("class OrderFlow(Flow[Nowhere, OrderResult]):", "1275 Nowhere"),
    ],
)
def test_a_flow_says_its_contracts(header: str, problem: str) -> None:
    assert link_flow(STEP, header=header).problems == [problem]


CAPABILITY = '@capability("a.b", version="1.0.0", authorization=Internal())'


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("async def cap(request: PlaceOrder) -> OrderResult: ...", "1240 cap"),
        ("async def cap(request: PlaceOrder, ctx: StepContext, more: int) -> OrderResult: ...", "1240 cap"),
        ("async def cap(request: PlaceOrder, *, ctx: StepContext) -> OrderResult: ...", "1240 cap"),
        ("async def cap(request: PlaceOrder, ctx: StepContext) -> OrderResult:\n    yield 1", "1240 cap"),
        ("class cap:\n    pass", "1240 cap"),
        ("class cap:\n    @staticmethod\n    async def execute(request, ctx): ...", "1240 staticmethod"),
        ("async def cap(request: int, ctx: StepContext) -> OrderResult: ...", "1241 int"),
        ("async def cap(request, ctx: StepContext) -> OrderResult: ...", "1241 request"),
        ("async def cap(request: PlaceOrder, ctx: StepContext): ...", "1242 cap"),
        ("async def cap(request: PlaceOrder, ctx: StepContext) -> OrderResult | None: ...", "1242 OrderResult | None"),
        ("async def cap(request: PlaceOrder | Line, ctx: StepContext) -> None: ...", "1015 PlaceOrder | Line"),
        ("async def cap(request: Nowhere, ctx: StepContext) -> OrderResult: ...", "1275 Nowhere"),
        ("async def cap(request: PlaceOrder, ctx: StepContext) -> Nowhere: ...", "1275 Nowhere"),
    ],
)
def test_a_capability_takes_one_contract_and_gives_one(source: str, problem: str) -> None:
    assert link_flow(STEP, f"{CAPABILITY}\n{source}\n").problems == [problem]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("", "1220 capability('a.b')"),
        ("version='1.0.0', idempotent=1", "1230 1"),
        ("version='1.0.0', side_effects='payment'", "1230 'payment'"),
        ("version='1.0.0', side_effects=(1, 'payment')", "1230 1, 'payment'"),
        ("version='1.0.0', errors=OutOfStock", "1230 OutOfStock"),
        ("version='1.0.0', errors=(ValueError,)", "1232 ValueError"),
        ("version='1.0.0', errors=(Nowhere,)", "1275 Nowhere"),
    ],
)
def test_a_capability_s_decorator_is_constant(arguments: str, problem: str) -> None:
    given = f"'a.b', {arguments}" if arguments else "'a.b'"
    source = f"@capability({given})\nasync def cap(request: PlaceOrder, ctx: StepContext) -> None: ...\n"

    assert link_flow(STEP, source).problems == [problem]


def test_stance_and_errors_may_be_constants() -> None:
    source = (
        f"{MODULE}\n@capability('a.b', version='1.0.0', authorization=AUTHORIZATION, errors=ERRORS)\n"
        "async def cap(request: PlaceOrder, ctx: StepContext) -> None: ...\n"
    )
    linked = link_flow(STEP, source)
    found = linked.program.capabilities["orders.cap"]

    assert linked.problems == []
    assert found.stance is not None
    assert (found.stance.kind, found.errors) == ("internal", ("shop.OutOfStock", "shop.TooLate"))


def test_a_wait_keeps_its_expression_and_the_place_of_its_constant() -> None:
    linked = link_flow("flow.await_signal(PaymentConfirmed, timeout=SHORT)", MODULE)
    (wait,) = linked.flow.body.constructs

    assert isinstance(wait, AwaitSignal)
    assert wait.timeout.value.constant == "orders.SHORT"
    declared = wait.timeout.value.declared
    assert declared is not None
    assert linked.program.modules["orders"].lines[declared.span.line - 1] == 'SHORT = "PT5S"'
