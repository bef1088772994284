"""The node table of every construct, as the design lays it out."""

from __future__ import annotations

import pytest

from flowx_compiler.lower import plan_model as plan
from tests.compiler.small_plans import imported, model_of, source


def table(body: str) -> list[str]:
    return [row(node) for node in model_of(source(body)).nodes]


def row(node: plan.Node) -> str:
    match node:
        case plan.Step():
            return node.name
        case plan.Branch():
            return f"branch else {node.otherwise}"
        case plan.Jump():
            return f"jump {node.target}"
        case plan.Switch():
            cases = ", ".join(f"{value.text}: {target}" for value, target in node.cases)
            return f"switch {cases}, default {node.default}"
        case plan.Parallel():
            return f"parallel {list(node.branches)} join {node.join}"
        case plan.ForEach():
            return f"for_each {node.item_text} join {node.join}"
        case plan.SubFlow():
            return f"sub_flow {node.name} {'detached' if node.is_detached else 'inline'}"
        case plan.AwaitSignal():
            return f"await {node.name} signal {node.signal_target}"
        case plan.Poll():
            return f"poll {None if node.signal is None else node.signal.id} satisfied {node.satisfied_target}"
        case plan.Delay() | plan.Emit():
            return node.name
        case plan.Fail():
            return f"fail {node.code}"


POLL = 'flow.poll_until(job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout="PT4H")'
TABLES = {
    "a step": ("flow.step(open_review)", ["review.open"]),
    "when": (
        "flow.when(lambda ctx: ctx.input.express, lambda b: b.step(open_review))\nflow.step(start_job)",
        ["branch else 2", "review.open", "job.start"],
    ),
    "when at the end": (
        "flow.when(lambda ctx: ctx.input.express, lambda b: b.step(open_review))",
        ["branch else 2", "review.open"],
    ),
    "when and otherwise": (
        (
            "flow.when(lambda ctx: ctx.input.express, lambda b: b.step(open_review))"
            ".otherwise(lambda b: b.step(start_job))\nflow.step(validate_order)"
        ),
        ["branch else 3", "review.open", "jump 4", "job.start", "order.validate"],
    ),
    "switch without a default": (
        (
            "flow.switch(lambda ctx: ctx.input.channel).case(Channel.RETAIL, lambda b: b.step(open_review))"
            ".case(Channel.WHOLESALE, lambda b: b.step(start_job))\nflow.step(validate_order)"
        ),
        [
            "switch Channel.RETAIL: 1, Channel.WHOLESALE: 3, default 5",
            "review.open",
            "jump 5",
            "job.start",
            "jump 5",
            "order.validate",
        ],
    ),
    "switch with a default": (
        (
            "flow.switch(lambda ctx: ctx.input.total).case(1, lambda b: b.step(open_review))"
            ".default(lambda b: b.fail(TooLate))\nflow.step(validate_order)"
        ),
        ["switch 1: 1, default 3", "review.open", "jump 4", "fail order.too_late", "order.validate"],
    ),
    "parallel": (
        "flow.parallel(open_review, lambda b: b.step(start_job).step(job_status))\nflow.step(validate_order)",
        ["parallel [1, 2] join 4", "review.open", "job.start", "job.status", "order.validate"],
    ),
    "parallel of one branch": (
        "flow.parallel(lambda b: b.step(start_job).step(job_status))\nflow.step(validate_order)",
        ["job.start", "job.status", "order.validate"],
    ),
    "for_each": (
        "flow.for_each(lambda ctx: ctx.input.lines, lambda b: b.step(reserve_line))\nflow.step(validate_order)",
        ["for_each Line join 2", "line.reserve", "order.validate"],
    ),
    "await without a block": (
        'flow.await_signal(PaymentConfirmed, timeout="P7D")\nflow.step(validate_order)',
        ["await payment.confirmed signal None", "order.validate"],
    ),
    "await with a block": (
        (
            'flow.await_signal(PaymentConfirmed, timeout="P7D").on_timeout(lambda b: b.fail(TooLate))\n'
            "flow.step(validate_order)"
        ),
        ["await payment.confirmed signal 2", "fail order.too_late", "order.validate"],
    ),
    "poll": (f"flow.step(start_job)\n{POLL}", ["job.start", "poll None satisfied None", "job.status"]),
    "poll with both endings": (
        (
            f"flow.step(start_job)\n{POLL}.or_signal(JobFinished).on_timeout(lambda b: b.fail(TooLate))\n"
            "flow.step(validate_order)"
        ),
        ["job.start", "poll job.finished satisfied 4", "job.status", "fail order.too_late", "order.validate"],
    ),
    "blocks in blocks": (
        (
            "flow.for_each(lambda ctx: ctx.input.lines, lambda b: b.when(lambda ctx: ctx.input.express,"
            " lambda c: c.parallel(reserve_line, lambda d: d.step(open_review)))"
            ".otherwise(lambda c: c.step(reserve_line)))"
        ),
        [
            "for_each Line join 7",
            "branch else 6",
            "parallel [3, 4] join 5",
            "line.reserve",
            "review.open",
            "jump 7",
            "line.reserve#2",
        ],
    ),
    "delay and emit": (
        'flow.delay("PT1H")\nflow.emit(OrderPlaced, lambda ctx: OrderPlaced(order_id="1"))\nflow.delay("PT1H")',
        ["flow.delay", "order.placed", "flow.delay#2"],
    ),
}


@pytest.mark.parametrize("construct", TABLES)
def test_a_construct_is_laid_out_as_designed(construct: str) -> None:
    body, expected = TABLES[construct]
    assert table(body) == expected


def test_names_count_repeats_over_the_whole_plan_and_labels_stand() -> None:
    body = (
        "flow.step(open_review)\n"
        'flow.step(open_review).named("second look")\n'
        "flow.when(lambda ctx: ctx.input.express, lambda b: b.step(open_review))\n"
        "flow.step(open_review)"
    )
    steps = [node.name for node in model_of(source(body)).nodes if isinstance(node, plan.Step)]
    assert steps == ["review.open", "second look", "review.open#2", "review.open#3"]


def test_a_label_that_looks_like_a_repeat_keeps_its_name_and_the_repeat_moves_on() -> None:
    body = 'flow.step(open_review).named("review.open#2")\nflow.step(open_review)\nflow.step(open_review)'
    steps = [node.name for node in model_of(source(body)).nodes if isinstance(node, plan.Step)]
    assert steps == ["review.open#2", "review.open", "review.open#3"]
    with imported(source(body)) as namespace:
        assert [node.name for node in namespace["PLAN"].nodes] == steps


def test_what_a_fork_or_loop_says_of_itself_reaches_the_plan() -> None:
    body = (
        "flow.parallel(open_review, start_job, merge=Merge.quorum(1))\n"
        "flow.for_each(lambda ctx: ctx.input.lines, lambda b: b.step(reserve_line), max_concurrency=8,"
        " continue_on_error=True)"
    )
    with imported(source(body)) as namespace:
        fork, _, _, loop, _ = namespace["PLAN"].nodes
        assert (fork.merge.rule, fork.merge.needed) == ("quorum", 1)
        assert (loop.max_concurrency, loop.continue_on_error) == (8, True)


def test_a_failure_event_is_no_node() -> None:
    body = (
        "flow.emit_on_failure(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.input.order_id))\n"
        "flow.step(open_review)"
    )
    model = model_of(source(body))
    assert [row(node) for node in model.nodes] == ["review.open"]
    with imported(source(body)) as namespace:
        (failure,) = namespace["PLAN"].on_failure
        assert (failure.name, failure.event.id) == ("order.placed", "order.placed")
