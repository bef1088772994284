"""What a test may put in a capability's place, and what it is told when it cannot."""

from __future__ import annotations

import pytest

from flowx_runtime import Completed
from flowx_runtime.testing import TestSetupError, fails, flow_host, sequence
from tests.testing.flows import ORDER, PARTS, RETRIED, SLOW, Late, Order, Receipt, Seen

SEEN = Seen(times=1)


@pytest.mark.parametrize(
    ("capability", "answer", "message"),
    [
        ("test.lok", SEEN, r"calls 'test.lok': did you mean 'test.look'"),
        ("other", SEEN, r"calls 'other': they call test.charge, test.look, test.refund"),
        (
            "test.look",
            Receipt(text="r"),
            r"'test.look' declares Seen, and its substitute is of type Receipt: give Seen",
        ),
        ("test.look", None, r"'test.look' declares Seen, and its substitute is None"),
        ("test.look", sequence(SEEN, 3), r"'test.look' declares Seen, and its substitute is of type int"),
        ("test.refund", SEEN, r"'test.refund' declares no result, and its substitute is of type Seen: give None"),
        ("test.look", Late(), r"'test.look' is to give an exception: write fails\(Late"),
        ("test.look", Late, r"'test.look' is to give an exception: write fails\(Late\)"),
    ],
)
def test_what_cannot_be_right_is_refused_when_it_is_written(capability, answer, message) -> None:
    with pytest.raises(TestSetupError, match=message):
        flow_host(SLOW).substitute(capability, answer)


async def test_a_function_that_gives_the_wrong_thing_fails_the_test_and_not_the_step() -> None:
    async with flow_host(SLOW).substitute("test.charge", lambda request: request).build() as host:
        with pytest.raises(
            TestSetupError, match=r"'test.charge' declares Receipt, and its substitute is of type Order"
        ):
            await host.start(ORDER)


async def test_a_sequence_that_is_used_up_says_so() -> None:
    two = sequence(fails(Late), fails(Late))
    async with (
        flow_host(RETRIED).substitute("test.charge", two).substitute("test.look", SEEN, optional=True).build() as host
    ):
        await host.start(ORDER)
        with pytest.raises(TestSetupError, match=r"call 3 of 'test.charge' finds no answer, for its sequence has 2"):
            await host.advance_until_done()


async def test_a_sequence_that_repeats_begins_again() -> None:
    wrong_then_right = sequence(fails(Late), Receipt(text="r"), repeat=True)
    async with flow_host(RETRIED).substitute("test.charge", wrong_then_right).build() as host:
        for _ in range(2):
            run = await host.start(ORDER)
            await host.advance_until_done()
            assert isinstance(run.outcome, Completed)
        assert len(host.calls) == 6


async def test_a_substitute_that_nothing_calls_is_named_unless_it_is_optional() -> None:
    async def with_a_refund(*, optional: bool) -> None:
        async with flow_host(SLOW).substitute("test.refund", None, optional=optional).build() as host:
            await host.start(ORDER)
            await host.advance_until_done()

    with pytest.raises(TestSetupError, match=r"nothing called 'test.refund': remove the substitute, or mark it option"):
        await with_a_refund(optional=False)
    await with_a_refund(optional=True)


async def test_functions_take_as_much_as_they_ask_for() -> None:
    async def with_both(request: Order, ctx) -> Receipt:
        return Receipt(text=f"{request.number} at {ctx.attempt}")

    host = flow_host(SLOW).substitute("test.charge", with_both).substitute("test.look", lambda: SEEN).build()
    async with host:
        run = await host.start(ORDER)
        await host.advance_until_done()
        assert run.completed_with()
        assert host.calls[0].answer == Receipt(text="7 at 1")


async def test_a_builder_may_be_built_again_and_again() -> None:
    builder = flow_host(SLOW).substitute("test.charge", sequence(Receipt(text="first")))
    for _ in range(2):
        async with builder.build() as host:
            await host.start(ORDER)
            await host.advance_until_done()
            assert host.calls[0].answer == Receipt(text="first")


async def test_a_class_of_which_there_is_no_instance_is_named_when_it_is_called() -> None:
    from polling.contracts import SubmitDocument
    from polling.plans import document_process_v1_0_0 as document_process

    async with flow_host(document_process.PLAN).with_capabilities([]).build() as host:
        with pytest.raises(
            TestSetupError, match=r"'ocr.upload' was called and has no answer here: substitute it, or give"
        ):
            await host.start(SubmitDocument(document_id="d", content_type="t", pages=1))


async def test_every_element_of_a_loop_gets_an_answer_of_its_own() -> None:
    async with flow_host(PARTS).substitute("test.charge", sequence(*(Receipt(text=t) for t in "xy"))).build() as host:
        run = await host.start(ORDER)
        assert run.trace.executed.count("test.charge") == 2
