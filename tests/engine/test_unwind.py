"""Going back: what is undone, with what, in which order, and that a crash never turns it round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from engine_plans import (
    FAILED_EVENT,
    Job,
    NotInTime,
    ProcessingFailed,
    Refused,
    Submit,
    archive,
    extract,
    plan,
    upload,
)
from engine_scene import Crash, Scene

from flowx_runtime import Failed, Internal, StepContext, capability
from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.policies import PolicySet, Retry
from flowx_runtime.host.outcome import Compensation
from flowx_runtime.journal.records import State
from flowx_runtime.plan import Branch, CapabilityUse, Fail, FailureEmit, Jump, Switch

ORDER = Submit(document_id="o", note="hunter2")


def saga(**changes):
    return plan(upload(0), archive(1), extract(2), **changes)


async def failed(scene: Scene) -> Failed:
    outcome = await scene.host.run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    return outcome


async def test_completed_steps_are_undone_in_reverse_and_the_failed_one_is_not():
    scene = Scene(saga())
    scene.world.raising["document.extract"] = Refused()
    outcome = await failed(scene)
    assert (outcome.error.code, outcome.error.category) == ("ocr.refused", "conflict")
    assert outcome.compensation is Compensation.COMPLETED
    assert scene.world.effects == [
        "ocr.upload(o)",
        "offer.archive(o)",
        "offer.unarchive(o)",
        "ocr.cancel(job-o)",
    ]
    assert (await scene.rows())[2:] == [
        "|2|document.extract|Failure",
        "|1|offer.unarchive|Compensated",
        "|0|ocr.cancel|Compensated",
    ]
    assert [row.attempt for row in (await scene.history()).rows] == [1, 1, 1, 2, 2]


async def test_the_turn_backwards_is_written_with_the_failing_row():
    scene = Scene(saga())
    scene.world.raising["document.extract"] = Refused()
    await failed(scene)
    turn = scene.journal.commits[2]
    assert [row.capability_id for row in turn.rows] == ["document.extract"]
    assert turn.state is State.COMPENSATING
    assert turn.error.code == "ocr.refused"


async def test_the_last_undo_and_the_end_are_one_commit():
    scene = Scene(saga())
    scene.world.raising["document.extract"] = Refused()
    await failed(scene)
    last = scene.journal.commits[-1]
    assert ([row.capability_id for row in last.rows], last.state) == (["ocr.cancel"], State.FAILED)


async def test_a_failure_with_nothing_to_undo_ends_in_one_commit():
    scene = Scene(plan(upload(0)))
    scene.world.raising["ocr.upload"] = Refused()
    outcome = await failed(scene)
    assert outcome.compensation is Compensation.NOT_NEEDED
    (only,) = scene.journal.commits
    assert only.state is State.FAILED
    assert len(only.rows) == 1


async def test_the_request_is_stored_only_where_the_undo_needs_it():
    scene = Scene(saga())
    await scene.host.run("document.process", ORDER)
    upload_row, archive_row, extract_row = (await scene.history()).rows
    assert upload_row.request is None
    assert archive_row.request is not None
    assert extract_row.request is None


@pytest.mark.parametrize("commit", range(2, 5))
@pytest.mark.parametrize("when", ["crash_before", "crash_after"])
async def test_a_crash_in_the_middle_resumes_backwards(when: str, commit: int):
    scene = Scene(saga())
    scene.world.raising["document.extract"] = Refused()
    getattr(scene.journal, when).add(commit)
    try:
        await scene.host.run("document.process", ORDER)
    except Crash:
        if (await scene.state()) is State.COMPENSATING:
            del scene.world.raising["document.extract"]
        await scene.recover()
    assert await scene.state() is State.FAILED
    rows = await scene.rows()
    assert rows[-2:] == ["|1|offer.unarchive|Compensated", "|0|ocr.cancel|Compensated"]
    assert "|2|document.extract|Success" not in rows
    assert rows.count("|1|offer.unarchive|Compensated") == 1


async def test_one_undo_that_fails_does_not_stop_the_others(caplog):
    scene = Scene(saga())
    scene.world.raising |= {"document.extract": Refused(), "offer.unarchive": RuntimeError("no archive")}
    outcome = await failed(scene)
    assert outcome.compensation is Compensation.FAILED
    assert outcome.error.code == "ocr.refused"
    assert await scene.state() is State.COMPENSATION_FAILED
    assert (await scene.rows())[-4:] == [*["|1|offer.unarchive|Failure"] * 3, "|0|ocr.cancel|Compensated"]
    assert [row.attempt for row in (await scene.history()).rows if row.step_id == 1] == [1, 2, 3, 4]
    (told,) = [record.getMessage() for record in caplog.records if "Undo it by hand" in record.getMessage()]
    assert '"document_id":"o"' in told
    assert "no archive" in told
    assert "hunter2" not in told


async def test_the_compensation_policy_says_how_often_an_undo_is_tried():
    policy = PolicySet("patient", compensation_retry=Retry(5, Backoff.fixed("PT1S")))
    scene = Scene(plan(upload(0), replace(archive(1), policy=policy), extract(2)))
    scene.world.raising |= {"document.extract": Refused(), "offer.unarchive": RuntimeError("no archive")}
    await failed(scene)
    assert (await scene.rows()).count("|1|offer.unarchive|Failure") == 5


async def test_an_undo_that_is_not_idempotent_and_raised_is_not_made_again_by_itself(caplog):
    made = []

    @capability("offer.refund", version="1.0.0", authorization=Internal())
    async def refund(request: Submit, ctx: StepContext) -> None:
        made.append(request)
        raise RuntimeError("refunded, perhaps")

    careless = replace(archive(1), compensation=CapabilityUse(refund, "offer.refund", "1.0.0", Submit, None))
    scene = Scene(plan(upload(0), careless, extract(2)))
    scene.world.raising["document.extract"] = Refused()
    assert (await failed(scene)).compensation is Compensation.FAILED
    assert len(made) == 1
    assert "gave up after one attempt, last with" in caplog.text


async def test_attempts_at_an_undo_are_counted_over_a_crash():
    scene = Scene(saga())
    scene.world.raising |= {"document.extract": Refused(), "offer.unarchive": RuntimeError("no archive")}
    scene.journal.crash_after.add(3)
    with pytest.raises(Crash):
        await scene.host.run("document.process", ORDER)
    await scene.recover()
    assert await scene.state() is State.COMPENSATION_FAILED
    assert (await scene.rows()).count("|1|offer.unarchive|Failure") == 3


async def test_an_undo_has_a_key_of_its_own_and_knows_what_it_undoes():
    scene = Scene(saga())
    scene.world.raising["document.extract"] = Refused()
    await failed(scene)
    by_capability = {ctx.capability_id: ctx for ctx in scene.world.contexts}
    assert by_capability["ocr.cancel"].compensating_for == "ocr.upload"
    assert by_capability["ocr.upload"].compensating_for is None
    assert len({ctx.idempotency_key for ctx in scene.world.contexts}) == 4


async def test_any_other_exception_is_a_defect_logged_with_its_traceback(caplog):
    scene = Scene(plan(upload(0)))
    scene.world.raising["ocr.upload"] = KeyError("surprise")
    outcome = await failed(scene)
    assert (outcome.error.code, outcome.error.category) == ("capability.unhandled", "internal")
    assert "surprise" in outcome.error.detail
    assert any("Traceback" in record.getMessage() for record in caplog.records)


class Unsayable(Exception):
    def __str__(self) -> str:
        return self.response.status  # type: ignore[attr-defined,no-any-return]


class UnsayableRefusal(Refused):
    __str__ = Unsayable.__str__


@pytest.mark.parametrize(
    ("error", "code"), [(Unsayable(), "capability.unhandled"), (UnsayableRefusal(), "ocr.refused")]
)
async def test_an_exception_that_fails_to_say_anything_fails_the_step_all_the_same(error, code):
    scene = Scene(saga())
    scene.world.raising |= {"document.extract": error, "offer.unarchive": error}
    outcome = await failed(scene)
    assert outcome.error.code == code
    assert "<AttributeError when it was asked what it says>" in outcome.error.detail
    assert await scene.state() is State.COMPENSATION_FAILED
    assert (await scene.rows())[-4:] == [*["|1|offer.unarchive|Failure"] * 3, "|0|ocr.cancel|Compensated"]


async def test_sensitive_members_are_in_no_error_and_no_log(caplog):
    scene = Scene(plan(upload(0)))
    scene.world.raising["ocr.upload"] = ValueError("cannot read hunter2")
    outcome = await failed(scene)
    assert "hunter2" not in outcome.error.detail
    assert "[redacted]" in outcome.error.detail
    assert not any("hunter2" in record.getMessage() for record in caplog.records)


def _raise(_):
    raise ZeroDivisionError("by zero")


@pytest.mark.parametrize(
    ("nodes", "code", "more"),
    [
        ((Branch(1, _raise, 2),), "flow.predicate_failed", {}),
        ((Switch(1, _raise, ((1, 2),), 2),), "flow.selector_failed", {}),
        ((), "flow.projection_failed", {"returns": _raise, "output": Job}),
    ],
)
async def test_an_exception_of_a_lifted_function_fails_the_flow_and_unwinds(nodes, code, more):
    scene = Scene(plan(upload(0), *nodes, **more))
    outcome = await failed(scene)
    assert outcome.error.code == code
    assert scene.world.effects == ["ocr.upload(o)", "ocr.cancel(job-o)"]


async def test_a_map_that_raises_and_a_value_that_is_missing_are_told_apart():
    mapped = Scene(plan(upload(0), replace(extract(1), request=_raise)))
    assert (await failed(mapped)).error.code == "flow.map_failed"
    missing = Scene(plan(extract(0)))
    assert (await failed(missing)).error.code == "flow.value_missing"


async def test_the_failure_event_is_staged_once_and_may_read_the_error():
    emit = FailureEmit("failed", FAILED_EVENT, lambda ctx: ProcessingFailed(code=ctx.error.code))
    scene = Scene(saga(on_failure=(emit,)))
    scene.world.raising["document.extract"] = Refused()
    scene.journal.crash_after.add(2)
    with pytest.raises(Crash):
        await scene.host.run("document.process", ORDER)
    await scene.recover()
    (staged,) = await scene.journal.events(scene.only())
    assert (staged.type, staged.payload) == ("document.failed", '{"code":"ocr.refused"}')


async def test_a_declared_failure_ends_the_flow_with_a_row_that_names_no_capability():
    scene = Scene(plan(upload(0), Branch(1, lambda ctx: True, 4), Fail(2, NotInTime), Jump(3, 4), extract(4)))
    outcome = await failed(scene)
    assert outcome.error.code == "document.not_read_in_time"
    assert outcome.error.detail == "The provider did not read the document within the budget."
    assert (await scene.rows())[1] == "|2||Failure"


async def test_an_unwind_that_began_without_a_row_goes_on_backwards_even_if_the_cause_is_gone():
    broken = [True]

    def predicate(ctx):
        if broken[0]:
            raise ZeroDivisionError
        return True

    scene = Scene(plan(upload(0), archive(1), Branch(2, predicate, 3), extract(3)))
    # The commits: upload, archive and the turn backwards (no row between), the first undo.
    scene.journal.crash_before.add(2)
    with pytest.raises(Crash):
        await scene.host.run("document.process", ORDER)
    assert await scene.state() is State.COMPENSATING
    broken[0] = False
    await scene.recover()
    assert await scene.state() is State.FAILED
    assert "document.extract(job-o)" not in scene.world.effects


@pytest.mark.parametrize(("selected", "arm"), [(1, "offer.archive"), (True, "document.extract"), ("1", None)])
async def test_a_switch_takes_the_first_case_of_the_same_type_and_value(selected, arm):
    cases = ((1, 2), (True, 4))
    switch = Switch(1, lambda ctx: selected, cases, 5)
    scene = Scene(plan(upload(0), switch, archive(2), Jump(3, 5), extract(4)))
    await scene.host.run("document.process", ORDER)
    taken = [effect.partition("(")[0] for effect in scene.world.effects[1:]]
    assert taken == ([] if arm is None else [arm])


async def test_a_recorded_value_that_no_longer_fits_stops_its_own_undo_only(caplog):
    scene = Scene(saga())
    scene.world.raising["document.extract"] = Refused()
    scene.journal.crash_after.add(2)
    with pytest.raises(Crash):
        await scene.host.run("document.process", ORDER)
    entry = scene.journal._entries[scene.only()]
    entry.rows[1] = replace(entry.rows[1], request='{"renamed":"o"}')
    await scene.recover()
    assert await scene.state() is State.COMPENSATION_FAILED
    assert (await scene.rows())[-4:] == [*["|1|offer.unarchive|Failure"] * 3, "|0|ocr.cancel|Compensated"]
    assert any("no longer fits" in record.getMessage() for record in caplog.records)
