"""What is in the bag where: the data flow through every kind of block, as uses of contracts see it."""

from __future__ import annotations

import pytest

from flowx_compiler.check.slots import ALWAYS, Cause, Sometimes, uses
from flowx_compiler.link import link
from flowx_compiler.link.sources import Sources
from flowx_compiler.rules import flowx1013_branches_share_a_slot
from flowx_compiler.rules.examples import example_files
from flowx_compiler.rules.rule import Example

POLL = 'flow.poll_until(job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout="PT1H")'


def presence(define: str, contract: str) -> str:
    """How the projection, which reads the contract, finds it."""
    text = f"{define}\nflow.returns(lambda ctx: OrderResult(order_id=str(ctx.get({contract}))))"
    program = link(Sources.of(example_files(Example(text, module="from shop import JobStarted", returns=False))))
    assert program.problems == ()
    flow = program.flows["example.Example"]
    last = uses(program, flow)[-1]
    assert last.taker == "the projection"
    match last.presence:
        case None:
            return "never"
        case Sometimes(cause=cause):
            return cause.name
        case _:
            assert last.presence == ALWAYS
            return "always"


STARTS = "lambda b: b.step(start_job)"
REVIEWS = "lambda b: b.step(open_review)"
FAILS = "lambda b: b.fail(TooLate)"


@pytest.mark.parametrize(
    ("define", "contract", "expected"),
    [
        ("flow.step(open_review)", "PlaceOrder", "always"),
        ("flow.step(open_review)", "JobStarted", "never"),
        ("flow.step(start_job)", "JobStarted", "always"),
        ("flow.step(open_review).compensate_with(close_review)", "ManualReview", "always"),
        # a decision
        (f"flow.when(lambda ctx: ctx.input.express, {STARTS})", "JobStarted", "ARM"),
        (f"flow.when(lambda ctx: ctx.input.express, {STARTS}).otherwise({STARTS})", "JobStarted", "always"),
        (f"flow.when(lambda ctx: ctx.input.express, {STARTS}).otherwise({FAILS})", "JobStarted", "always"),
        (f"flow.when(lambda ctx: ctx.input.express, {FAILS})", "JobStarted", "never"),
        (f"flow.when(lambda ctx: ctx.input.express, {STARTS}).otherwise({REVIEWS})", "ManualReview", "ARM"),
        # a choice
        (f"flow.switch(lambda ctx: ctx.input.channel).case(Channel.RETAIL, {STARTS})", "JobStarted", "ARM"),
        (
            f"flow.switch(lambda ctx: ctx.input.channel).case(Channel.RETAIL, {STARTS}).default({STARTS})",
            "JobStarted",
            "always",
        ),
        (
            f"flow.switch(lambda ctx: ctx.input.channel).case(Channel.RETAIL, {STARTS}).default({FAILS})",
            "JobStarted",
            "always",
        ),
        # a fork
        (f"flow.parallel({STARTS}, {REVIEWS})", "JobStarted", "always"),
        (f"flow.parallel({STARTS}, {REVIEWS}, merge=Merge.FIRST_SUCCESS)", "JobStarted", "MERGE"),
        (f"flow.parallel({STARTS}, {REVIEWS}, merge=Merge.ALL_SETTLED)", "JobStarted", "MERGE"),
        (f"flow.parallel({STARTS}, {REVIEWS}, merge=Merge.quorum(1))", "ManualReview", "MERGE"),
        (
            f"flow.parallel(lambda b: b.when(lambda ctx: ctx.input.express, {STARTS}), {REVIEWS})",
            "JobStarted",
            "ARM",
        ),
        # a loop
        ("flow.for_each(lambda ctx: ctx.input.lines, lambda line: line.step(reserve_line))", "Line", "never"),
        (
            (
                "flow.for_each(lambda ctx: ctx.input.lines, "
                "lambda line: line.when(lambda ctx: ctx.get(Line).quantity > 1, lambda b: b.step(open_review)))"
            ),
            "ManualReview",
            "LOOP",
        ),
        # a wait
        ('flow.await_signal(PaymentConfirmed, timeout="P1D")', "PaymentConfirmed", "always"),
        (f'flow.await_signal(PaymentConfirmed, timeout="P1D").on_timeout({FAILS})', "PaymentConfirmed", "always"),
        (f'flow.await_signal(PaymentConfirmed, timeout="P1D").on_timeout({REVIEWS})', "PaymentConfirmed", "TIMEOUT"),
        (f'flow.await_signal(PaymentConfirmed, timeout="P1D").on_timeout({REVIEWS})', "ManualReview", "TIMEOUT"),
        # a poll, and its second ending
        (f"flow.step(start_job)\n{POLL}", "JobStatus", "always"),
        (f"flow.step(start_job)\n{POLL}.or_signal(JobFinished)", "JobStatus", "always"),
        (f"flow.step(start_job)\n{POLL}.or_signal(JobFinished)", "JobFinished", "SIGNAL_ENDING"),
        (
            f"flow.step(start_job)\n{POLL}.or_signal(JobFinished).on_timeout({FAILS})",
            "JobFinished",
            "SIGNAL_ENDING",
        ),
        (
            f"flow.step(start_job)\n{POLL}.or_signal(JobFinished).on_timeout({REVIEWS})",
            "JobFinished",
            "SIGNAL_ENDING",
        ),
        (f"flow.step(start_job)\n{POLL}.or_signal(JobFinished).on_timeout({REVIEWS})", "JobStatus", "always"),
        # a second ending whose value a later step makes sure of
        (
            (
                f"flow.step(start_job)\n{POLL}.or_signal(JobFinished)\n"
                'flow.await_signal(JobFinished, timeout="P1D").on_timeout(lambda b: b.fail(TooLate))'
            ),
            "JobFinished",
            "always",
        ),
        (
            (
                f"flow.step(start_job)\n{POLL}.or_signal(JobFinished)\n"
                f'flow.parallel(lambda b: b.await_signal(JobFinished, timeout="P1D"), {REVIEWS})'
            ),
            "JobFinished",
            "always",
        ),
        (
            (
                f"flow.step(start_job)\n{POLL}.or_signal(JobFinished)\n"
                f"flow.parallel({REVIEWS}, lambda b: b.step(validate_order), merge=Merge.ALL_SETTLED)"
            ),
            "JobFinished",
            "SIGNAL_ENDING",
        ),
    ],
)
def test_presence_after_a_definition(define: str, contract: str, expected: str):
    assert presence(define, contract) == expected


CHILD = """\
from flowx_runtime import SubFlowMode
from shop import JobStarted

@flow("example.child", version="1.0.0", profile=Profile.DURABLE, owner="shop")
class Child(Flow[PlaceOrder, JobStarted]):
    def define(self, flow: FlowBuilder[PlaceOrder, JobStarted]) -> None:
        flow.step(start_job)
        flow.returns(lambda ctx: ctx.get(JobStarted))
"""
CALL = "flow.sub_flow(Child, lambda ctx: ctx.input)"


@pytest.mark.parametrize(
    ("define", "expected"),
    [
        (CALL, ALWAYS),
        ("flow.sub_flow(Child, lambda ctx: ctx.input, mode=SubFlowMode.DETACHED)", None),
        (f"flow.for_each(lambda ctx: ctx.input.lines, lambda line: line{CALL[4:]})", Cause.LOOP),
        (f"flow.parallel(lambda b: b{CALL[4:]}, open_review)", ALWAYS),
    ],
    ids=["inline", "detached", "in a loop", "in a branch"],
)
def test_a_finished_sub_flow_leaves_its_output_as_a_step_does(define: str, expected: object):
    program = link(Sources.of(example_files(Example(f"{define}\nflow.step(job_status)", module=CHILD))))
    assert program.problems == ()
    (found,) = (use for use in uses(program, program.flows["example.Example"]) if use.contract == "shop.JobStarted")

    presence = found.presence
    assert (presence.cause if isinstance(presence, Sometimes) else presence) == expected


def test_two_branches_that_run_one_sub_flow_leave_one_contract_twice():
    define = f"flow.parallel(lambda b: b{CALL[4:]}, start_job)"
    program = link(Sources.of(example_files(Example(define, module=CHILD))))

    (finding,) = flowx1013_branches_share_a_slot.check(program)
    assert finding.message.startswith("two branches leave JobStarted")


def test_what_follows_a_fork_that_always_fails_is_not_asked():
    define = f"flow.parallel({FAILS}, {STARTS})"
    text = f"{define}\nflow.returns(lambda ctx: OrderResult(order_id=str(ctx.get(JobStatus))))"
    program = link(Sources.of(example_files(Example(text, returns=False))))

    assert "the projection" not in {use.taker for use in uses(program, program.flows["example.Example"])}


def test_a_loop_leaves_results_even_where_it_leaves_no_value():
    define = (
        "flow.for_each(lambda ctx: ctx.input.lines, lambda line: line.step(reserve_line))\n"
        "flow.when(lambda ctx: len(ctx.results(LineReserved)) > 1, lambda b: b.step(open_review))"
    )
    module = "from shop import LineReserved"
    program = link(Sources.of(example_files(Example(define, module=module))))
    found = [use for use in uses(program, program.flows["example.Example"]) if use.is_gathered]

    assert [(use.contract, use.presence) for use in found] == [("shop.LineReserved", ALWAYS)]


def test_a_find_asks_for_nothing():
    define = "flow.when(lambda ctx: ctx.find(JobFinished) is None, lambda b: b.step(open_review))"
    program = link(Sources.of(example_files(Example(define))))
    found = uses(program, program.flows["example.Example"])

    assert [use.contract for use in found] == ["shop.PlaceOrder"]


def test_the_cause_names_the_construct_that_makes_the_difference():
    text = f"flow.step(start_job)\n{POLL}.or_signal(JobFinished)\nflow.step(confirm_job)"
    program = link(Sources.of(example_files(Example(text))))
    flow = program.flows["example.Example"]
    use = next(use for use in uses(program, flow) if use.contract == "shop.JobFinished")

    assert use.presence == Sometimes(Cause.SIGNAL_ENDING, flow.body.constructs[1].place)
