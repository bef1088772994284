"""What `define` may contain: every misplaced call is one problem, at the text its author would edit."""

from __future__ import annotations

import pytest

from flowx_compiler.model import AwaitSignal, Fail, ForEach, Parallel, Poll, Sequence, Step, SubFlow, Switch, When
from tests.compiler.order_flows import link_flow

STEP = "flow.step(validate_order)"
REVIEW = "lambda b: b.step(open_review)"
POLL = 'flow.poll_until(job_status, until=lambda ctx: True, interval=JITTERED, timeout="PT1H")'
WAIT = 'flow.await_signal(PaymentConfirmed, timeout="P1D")'
WHEN = f"flow.when(lambda ctx: ctx.input.express, {REVIEW})"
SWITCH = "flow.switch(lambda ctx: ctx.input.channel)"
ONE_CASE = f"{SWITCH}.case(Channel.RETAIL, {REVIEW})"

NOT_ALLOWED = {
    "a misspelt call": ("flow.awaitSignal(PaymentConfirmed)", "1201 awaitSignal"),
    "a misspelt call after the end": ("flow.fail(OutOfStock)\nflow.stepp(open_review)", "1201 stepp"),
    "an undo of nothing": ("flow.compensate_with(close_review)", "1202 compensate_with"),
    "an undo in a chain of its own": (f"{STEP}\nflow.compensate_with(close_review)", "1202 compensate_with"),
    "an undo first in a block": (
        "flow.when(lambda ctx: ctx.input.express, lambda b: b.compensate_with(close_review))",
        "1202 compensate_with",
    ),
    "an undo of a wait": (f"{WAIT}.compensate_with(close_review)", "1202 compensate_with"),
    "an undo of a poll": (f"{POLL}.compensate_with(close_review)", "1202 compensate_with"),
    "an undo of a delay": ('flow.delay("P1D").compensate_with(close_review)', "1202 compensate_with"),
    "an undo of a condition": (f"{WHEN}.compensate_with(close_review)", "1202 compensate_with"),
    "an undo of a fork": ("flow.parallel(start_job).compensate_with(close_review)", "1202 compensate_with"),
    "a second undo": (f"{STEP}.compensate_with(close_review).compensate_with(close_review)", "1202 compensate_with"),
    "a second policy": (f"{STEP}.with_policy(SAFE_RETRY).with_policy(SAFE_RETRY)", "1034 with_policy"),
    "a second name": (f'{STEP}.named("a").named("b")', "1202 named"),
    "a signal without a poll": (f"{STEP}.or_signal(JobFinished)", "1203 or_signal"),
    "a second signal": (f"{POLL}.or_signal(JobFinished).or_signal(PaymentConfirmed)", "1203 or_signal"),
    "a signal after the timeout": (f"{POLL}.on_timeout({REVIEW}).or_signal(JobFinished)", "1203 or_signal"),
    "a timeout without a wait": (f"{STEP}.on_timeout({REVIEW})", "1204 on_timeout"),
    "a second timeout": (f"{WAIT}.on_timeout({REVIEW}).on_timeout({REVIEW})", "1204 on_timeout"),
    "an otherwise without a when": (f"flow.otherwise({REVIEW})", "1205 otherwise"),
    "an otherwise in a chain of its own": (f"{WHEN}\nflow.otherwise({REVIEW})", "1205 otherwise"),
    "a second otherwise": (f"{WHEN}.otherwise({REVIEW}).otherwise({REVIEW})", "1205 otherwise"),
    "a case without a switch": (f"flow.case(Channel.RETAIL, {REVIEW})", "1206 case"),
    "a case after the default": (f"{ONE_CASE}.default({REVIEW}).case(Channel.WHOLESALE, {REVIEW})", "1206 case"),
    "a default before any case": (f"{SWITCH}.default({REVIEW})", "1206 default"),
    "a switch without a case": (SWITCH, "1206 switch"),
    "a projection in a block": (
        'flow.when(lambda ctx: True, lambda b: b.returns(lambda ctx: OrderResult(order_id="1")))',
        "1208 returns",
    ),
    "a failure's event in a block": (
        'flow.when(lambda ctx: True, lambda b: b.emit_on_failure(OrderPlaced, lambda ctx: OrderPlaced(order_id="1")))',
        "1208 emit_on_failure",
    ),
    "a block that is a call": ("flow.when(lambda ctx: True, open_review())", "1209 open_review()"),
    "a block of two parameters": (
        "flow.when(lambda ctx: True, lambda a, b: a.step(open_review))",
        "1209 lambda a, b: a.step(open_review)",
    ),
    "the outer builder in a block": (f"flow.when(lambda ctx: True, lambda b: {STEP})", "1210 flow"),
    "a call that is not called": ("flow.step", "1212 flow.step"),
    "the builder alone": ("flow", "1212 flow"),
    "a split chain": (f"made = {STEP}", f"1212 made = {STEP}"),
    "a condition": (f"if True:\n    {STEP}", "1212 if True:"),
    "a loop": (f"for item in range(3):\n    {STEP}", "1212 for item in range(3):"),
    "an endless loop": (f"while True:\n    {STEP}", "1212 while True:"),
    "a try": (f"try:\n    {STEP}\nfinally:\n    pass", "1212 try:"),
    "a with": (f"with shop:\n    {STEP}", "1212 with shop:"),
    "a match": (f"match 1:\n    case 1:\n        {STEP}", "1212 match 1:"),
    "an assertion": ("assert True", "1212 assert True"),
    "an import": ("import os", "1212 import os"),
    "a chosen chain": (f"{STEP} if True else {STEP}", f"1212 {STEP} if True else {STEP}"),
    "two chains in a tuple": (f"{STEP}, {STEP}", f"1212 {STEP}, {STEP}"),
    "a comprehension": ("[flow.step(c) for c in (open_review,)]", "1212 [flow.step(c) for c in (open_review,)]"),
    "an awaited chain": (f"await {STEP}", f"1212 await {STEP}"),
    "a helper": ("help(flow)", "1212 help(flow)"),
    "a return before the end": (f"return {STEP}", f"1212 return {STEP}"),
    "a function that nothing names": ("def unused(b):\n    b.step(open_review)", "1212 unused"),
    "starred branches": ("flow.parallel(*[start_job])", "1213 [start_job]"),
    "starred arguments": ("flow.await_signal(PaymentConfirmed, **{})", "1213 {}"),
}


@pytest.mark.parametrize(("define", "problem"), NOT_ALLOWED.values(), ids=list(NOT_ALLOWED))
def test_what_define_may_not_contain_is_one_problem_at_its_own_text(define: str, problem: str) -> None:
    linked = link_flow(define)

    assert linked.problems == [problem]
    assert not linked.flow.is_sound


@pytest.mark.parametrize("after", [f"{STEP}", "flow.returns(lambda ctx: ctx.input)", f"{WAIT}"])
def test_nothing_follows_the_projection(after: str) -> None:
    linked = link_flow('flow.returns(lambda ctx: OrderResult(order_id="1"))', returns=after)

    assert [problem.partition(" ")[0] for problem in linked.problems] == ["1207"]


def test_a_flow_with_an_output_has_a_projection_unless_it_always_fails() -> None:
    assert link_flow(STEP, returns="").problems == ["1208 define"]
    assert link_flow(f"{STEP}.fail(OutOfStock)", returns="").problems == []
    assert link_flow(STEP, returns="", header="class OrderFlow(Flow[PlaceOrder, None]):").problems == []


EMPTY = ["lambda b: b", "lambda b: None", "lambda b: ..."]


@pytest.mark.parametrize("block", EMPTY)
def test_a_block_that_does_nothing_is_a_warning_and_the_flow_compiles(block: str) -> None:
    linked = link_flow(f"flow.when(lambda ctx: True, {block})")

    assert linked.problems == [f"1211 {block}"]
    assert linked.flow.is_sound


@pytest.mark.parametrize("body", ["pass", "...", '"""Later."""'])
def test_so_is_a_function_that_does_nothing(body: str) -> None:
    linked = link_flow(f"def block(b):\n    {body}\nflow.when(lambda ctx: True, block)")

    assert linked.problems == ["1211 block"]


def test_statements_and_one_chain_mean_the_same() -> None:
    chain = link_flow(
        f"{STEP}.step(reserve_inventory).compensate_with(release_inventory).when(lambda ctx: True, {REVIEW})"
    )
    statements = link_flow(f"{STEP}\nflow.step(reserve_inventory).compensate_with(release_inventory)\n{WHEN}")
    returned = link_flow(STEP, returns='return flow.returns(lambda ctx: OrderResult(order_id="1"))')

    assert shape(chain.flow.body) == shape(statements.flow.body) == ["step", "step undone", ["when", ["step"]]]
    assert (chain.problems, statements.problems, returned.problems) == ([], [], [])
    assert returned.flow.returns is not None


def test_blocks_are_lambdas_nested_functions_and_functions_of_a_module() -> None:
    linked = link_flow(
        """
        \"\"\"Place an order.\"\"\"
        def nested(b):
            \"\"\"Ask somebody.\"\"\"
            b.step(open_review)
            return b.fail(TooLate)
        flow.await_signal(PaymentConfirmed, timeout="P1D").on_timeout(nested)
        flow.when(lambda ctx: ctx.input.express, at_module_level)
        """,
        """
        def at_module_level(f):
            f.step(open_review).when(lambda ctx: True, lambda inner: inner.step(start_job))
        """,
    )

    assert linked.problems == []
    assert shape(linked.flow.body) == [["await", ["step", "fail"]], ["when", ["step", ["when", ["step"]]]]]


def test_every_construct_is_understood_with_its_details() -> None:
    linked = link_flow(
        f"""
        flow.step(reserve_inventory, lambda ctx: ctx.get(ValidatedOrder)).named("hold").with_policy(SAFE_RETRY) \\
            .compensate_with(release_inventory)
        flow.for_each(lambda ctx: ctx.input.lines, lambda b: b.step(reserve_line), max_concurrency=4)
        {ONE_CASE}.default(lambda b: b.fail(OutOfStock))
        flow.parallel(start_job, {REVIEW}, merge=Merge.quorum(1))
        {POLL}.or_signal(JobFinished).on_timeout({REVIEW})
        flow.sub_flow(OrderFlow, lambda ctx: ctx.input, mode=SubFlowMode.DETACHED).named("again")
        flow.emit_on_failure(OrderPlaced, lambda ctx: OrderPlaced(order_id="1"))
        """
    )
    hold, loop, switch, fork, poll, child = linked.flow.body.constructs

    assert linked.problems == []
    assert isinstance(hold, Step)
    assert hold.label is not None
    assert (hold.label.text, hold.policy is None, hold.compensation is None) == ("hold", False, False)
    assert isinstance(loop, ForEach)
    assert (loop.item.name, loop.max_concurrency, loop.continue_on_error) == ("shop.Line", 4, False)
    assert isinstance(switch, Switch)
    assert [case.folded for case in switch.cases] == [("enum", "shop.Channel", "RETAIL")]
    assert isinstance(fork, Parallel)
    assert (fork.merge.rule, fork.merge.needed) == ("quorum", 1)
    assert isinstance(poll, Poll)
    assert poll.signal is not None
    assert poll.signal.id == "job.finished"
    assert isinstance(child, SubFlow)
    assert (child.flow, child.is_detached) == ("orders.OrderFlow", True)
    assert [emit.event.id for emit in linked.flow.on_failure] == ["order.placed"]


def test_calls_after_fail_are_places_and_no_problem() -> None:
    linked = link_flow(f"{STEP}\nflow.fail(OutOfStock)\nflow.step(open_review).compensate_with(close_review)")

    assert linked.problems == []
    assert shape(linked.flow.body) == ["step", "fail"]
    after = [place.span for place in linked.flow.body.unreachable]
    assert len(after) == 2
    assert after[0] < after[1]


def test_a_block_that_contains_itself_is_refused() -> None:
    linked = link_flow(
        "flow.when(lambda ctx: True, again)",
        "def again(b):\n    b.step(open_review).when(lambda ctx: True, again)\n",
    )

    assert [problem.partition(" ")[0] for problem in linked.problems] == ["1209"]


def test_a_decorated_block_is_refused_because_its_decorator_would_not_run() -> None:
    module = "@cache\ndef block(b):\n    b.step(open_review)\n"

    assert link_flow("flow.when(lambda ctx: True, block)", module).problems == ["1209 block"]


def test_the_builder_may_have_any_name_and_hide_one_of_the_module() -> None:
    linked = link_flow(f"def validate(flow):\n    {STEP}\nflow.when(lambda ctx: True, validate)")

    assert linked.problems == []


def test_what_stands_after_a_misunderstood_call_is_still_judged_and_said_once() -> None:
    linked = link_flow(f"flow.step(nowhere).compensate_with(close_review)\nflow.stepp(open_review)\n{WAIT[:-1]}, at=1)")

    assert linked.problems == ["1275 nowhere", "1201 stepp", "1221 1"]


def shape(sequence: Sequence) -> list[object]:
    """A block as words."""
    return [_shape(construct) for construct in sequence.constructs]


def _shape(construct: object) -> object:
    match construct:
        case Step():
            return "step" if construct.compensation is None else "step undone"
        case Fail():
            return "fail"
        case When():
            return ["when", shape(construct.then)]
        case AwaitSignal(on_timeout=Sequence() as block):
            return ["await", shape(block)]
        case _:
            raise AssertionError(construct)
