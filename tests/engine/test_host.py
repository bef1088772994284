"""What a host takes, refuses and says."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from engine_plans import (
    CANCEL,
    CLASSES,
    PROCESSED,
    SIGNED,
    STATUS,
    Archive,
    Cancel,
    Job,
    Processed,
    Result,
    Signed,
    Submit,
    Unarchive,
    Upload,
    archive,
    document_plan,
    extract,
    plan,
    saga_plan,
    upload,
)
from engine_scene import TTL, Scene, VirtualClock

from flowx_runtime import Completed, Failed, Flow, FlowHost, Profile, Suspended
from flowx_runtime.engine.capabilities import CapabilityDuplicate, CapabilityMissing, CapabilityUnknown
from flowx_runtime.host.errors import (
    DurabilityNotConfigured,
    HostClosed,
    IdempotencyConflict,
    InputMismatch,
    NaiveClock,
    NotADuration,
    NotAPlan,
    NotRunnable,
    NotStorableText,
    ProfileIsNotDurable,
)
from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.journal.records import Filter, State
from flowx_runtime.plan import AwaitSignal, Branch, Catalog, Delay, Emit, Step, SubFlow
from flowx_runtime.plan.catalog import UnknownPlan
from flowx_runtime.plan.staleness import PlanStale
from flowx_runtime.plan.uses import ContractUse, SignalUse

ORDER = Submit(document_id="o")


async def test_an_idempotency_key_is_one_instance_with_its_present_outcome():
    scene = Scene(saga_plan())
    first = await scene.host.run("document.process", ORDER, idempotency_key="k")
    again = await scene.new_host().run("document.process", ORDER, idempotency_key="k")
    assert first == again
    assert scene.world.effects == ["ocr.upload(o)"]
    other = await scene.host.run("document.process", ORDER, idempotency_key="k", tenant_id="t")
    assert other.instance_id != first.instance_id
    with pytest.raises(IdempotencyConflict):
        await scene.host.run("document.process", Submit(document_id="else"), idempotency_key="k")


async def test_a_durable_flow_without_a_journal_is_refused_before_its_first_step():
    scene = Scene(saga_plan())
    host = scene.new_host(journal=None)
    with pytest.raises(DurabilityNotConfigured) as refused:
        await host.run("document.process", ORDER)
    assert refused.value.code == "flow.durability_not_configured"
    assert scene.world.effects == []


async def test_an_ephemeral_flow_runs_without_a_journal_and_takes_no_key():
    scene = Scene(plan(upload(0), profile=Profile.EPHEMERAL, output=Job, returns=lambda ctx: ctx.get(Job)))
    host = scene.new_host(journal=None)
    outcome = await host.run("document.process", ORDER)
    assert isinstance(outcome, Completed)
    assert outcome.value == Job(job_id="job-o")
    with pytest.raises(ProfileIsNotDurable):
        await host.run("document.process", ORDER, idempotency_key="k")


async def test_an_ephemeral_flow_fails_and_unwinds_like_a_durable_one():
    scene = Scene(plan(upload(0), archive(1), extract(2), profile=Profile.EPHEMERAL))
    scene.world.raising["document.extract"] = OSError("gone")
    outcome = await scene.new_host(journal=None).run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert scene.world.effects[2:] == ["offer.unarchive(o)", "ocr.cancel(job-o)"]


async def test_capabilities_are_checked_when_the_host_is_made():
    scene = Scene()
    world = scene.world
    plans = [plan(upload(0), archive(1))]
    given = [Upload(world), Cancel(world), Archive(world), Unarchive(world)]
    FlowHost(plans, given)
    FlowHost(plans, [type("SpecialUpload", (Upload,), {})(world), *given[1:]])
    FlowHost(plans, [partial(cls, world) for cls in (Upload, Cancel, Archive, Unarchive)])
    with pytest.raises(CapabilityMissing, match=r"Archive \(offer.archive\), Unarchive"):
        FlowHost(plans, given[:2])
    with pytest.raises(CapabilityDuplicate, match="Upload"):
        FlowHost(plans, [*given, Upload(world)])
    with pytest.raises(CapabilityUnknown, match="Escalate"):
        FlowHost(plans, [*given, CLASSES[3](world)])
    with pytest.raises(CapabilityUnknown, match="is a class"):
        FlowHost(plans, [*given, Upload])
    with pytest.raises(CapabilityUnknown, match="no capability"):
        FlowHost(plans, [*given, object()])


class SomeFlow(Flow[Submit, Result]):
    def define(self, flow):
        raise NotImplementedError


def test_a_clock_without_a_time_zone_is_refused_in_a_sentence():
    class Naive:
        def now(self):
            return datetime(2031, 5, 6)  # noqa: DTZ001  the very mistake

    with pytest.raises(NaiveClock, match=r"Naive\.now\(\) gives an instant without a time zone, .* `datetime.now"):
        FlowHost([], clock=Naive())


async def test_a_flow_class_is_no_plan():
    with pytest.raises(NotAPlan, match="flowx build"):
        FlowHost([SomeFlow])
    scene = Scene(saga_plan())
    with pytest.raises(NotAPlan):
        await scene.host.run(SomeFlow, ORDER)
    with pytest.raises(UnknownPlan, match=r"it has document\.process"):
        await scene.host.run("document.proces", ORDER)
    with pytest.raises(InputMismatch, match="takes a Submit"):
        await scene.host.run("document.process", Job(job_id="x"))


async def test_a_sub_flow_that_the_host_lacks_is_refused_when_the_host_is_made():
    with pytest.raises(UnknownPlan, match=r"runs 'child' 2\.0\.0"):
        FlowHost([plan(SubFlow(0, "child", "child", "2.0.0", lambda ctx: ctx.input))])


async def test_an_ephemeral_flow_that_emits_is_told_that_nothing_is_published(caplog):
    emit = Emit(0, "e", PROCESSED, lambda ctx: Processed(document_id="d", fields=1))
    host = FlowHost([plan(emit, profile=Profile.EPHEMERAL)])
    assert any("publishes nothing" in record.getMessage() for record in caplog.records)
    assert isinstance(await host.run("document.process", ORDER), Completed)


async def test_an_empty_catalogue_is_a_host_of_no_flow():
    with pytest.raises(UnknownPlan, match="no flow at all"):
        await FlowHost(Catalog(())).run("x", ORDER)


@pytest.mark.parametrize(
    ("stale", "says"),
    [
        (plan(replace(upload(0), capability=replace(upload(0).capability, version="0.9.0"))), "had version '0.9.0'"),
        (
            plan(replace(upload(0), compensation=replace(CANCEL, id="ocr.abort"))),
            "had id 'ocr.abort'",
        ),
        (saga_plan(signal=SignalUse(Signed, "offer.done")), "was 'offer.done' and is 'offer.signed'"),
        (plan(Emit(0, "e", replace(PROCESSED, version="2.0.0"), str)), "was 'document.processed' 2.0.0"),
        (plan(Step(0, "s", replace(STATUS, idempotent=False))), "had idempotent False and has True"),
        (plan(extract(0), contracts=(ContractUse(Submit, ("document_id",)),)), "had the members document_id and has"),
    ],
)
async def test_a_plan_older_than_its_code_is_refused_and_says_what_moved(stale, says):
    with pytest.raises(PlanStale, match="Run `flowx build`") as refused:
        Scene(stale)
    assert says in str(refused.value)
    assert refused.value.code == "flow.plan_stale"


async def test_a_fresh_plan_is_not_stale():
    Scene(plan(upload(0), contracts=(ContractUse(Submit, ("document_id", "note?")), ContractUse(Job, None))))


async def test_an_instance_of_a_plan_this_node_lacks_is_counted_logged_once_and_left_alone(caplog):
    scene = Scene(saga_plan())
    outcome = await scene.host.run("document.process", ORDER)
    scene.clock.advance(timedelta(days=8))
    other = Scene(saga_plan(digest="d2"))
    other.journal, other.clock = scene.journal, scene.clock
    host = other.new_host()
    before = replace((await scene.history()).instance, fence=0)
    await host.sweep_once()
    await host.sweep_once()
    assert replace((await scene.history()).instance, fence=0) == before
    assert await scene.journal.live_leases(outcome.instance_id) == 0
    assert host.not_runnable[("document.process", "1.0.0", "d1")] == 2
    assert sum("does not have the plan" in record.getMessage() for record in caplog.records) == 1
    with pytest.raises(NotRunnable):
        await host.resume(outcome.instance_id)


async def test_a_run_that_loses_its_lease_stops_and_does_not_unwind():
    scene = Scene(plan(upload(0), archive(1)))

    def taken_over():
        scene.clock.advance(TTL + timedelta(seconds=1))
        entry = scene.journal._entries[scene.only()]
        scene.journal._acquire(entry, "another node", TTL)

    scene.world.hooks["offer.archive"] = taken_over
    outcome = await scene.host.run("document.process", ORDER)
    assert isinstance(outcome, Suspended)
    assert await scene.state() is State.RUNNING
    assert scene.world.effects == ["ocr.upload(o)", "offer.archive(o)"]
    assert await scene.rows() == ["|0|ocr.upload|Success"]


class Panic(BaseException):
    """As a library in another language raises one."""


@pytest.mark.parametrize("profile", [Profile.DURABLE, Profile.EPHEMERAL])
@pytest.mark.parametrize("left", [Panic("it panicked"), BaseExceptionGroup("several", [Panic("it panicked")])])
async def test_whatever_a_capability_lets_out_fails_its_step(left: BaseException, profile: Profile):
    scene = Scene(plan(upload(0), archive(1), profile=profile))

    def leaves():
        raise left

    scene.world.hooks["offer.archive"] = leaves
    outcome = await scene.host.run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "capability.unhandled"
    assert type(left).__name__ in outcome.error.detail


@pytest.mark.parametrize("left", [asyncio.CancelledError, GeneratorExit, SystemExit])
async def test_a_cancellation_that_a_capability_makes_itself_is_a_failure_and_no_endless_repeat(
    left: type[BaseException],
):
    scene = Scene(plan(upload(0), archive(1)))

    def leaves():
        raise left

    scene.world.hooks["offer.archive"] = leaves
    outcome = await scene.host.run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "capability.unhandled"


async def test_a_cancelled_attempt_leaves_no_row_and_no_lease():
    scene = Scene(plan(upload(0), archive(1)))

    run = asyncio.create_task(scene.host.run("document.process", ORDER))

    def cancelled():
        run.cancel()
        raise asyncio.CancelledError

    scene.world.hooks["offer.archive"] = cancelled
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await scene.rows() == ["|0|ocr.upload|Success"]
    assert await scene.journal.live_leases(scene.only()) == 0
    scene.world.hooks.clear()
    assert isinstance(await scene.new_host().resume(scene.only()), Completed)
    assert scene.world.effects == ["ocr.upload(o)", "offer.archive(o)"]


async def test_a_run_that_is_cancelled_twice_gives_its_lease_up_all_the_same(monkeypatch):
    scene = Scene(plan(upload(0), archive(1)))
    at_once = scene.journal.release

    async def later(instance_id, *, fencing_token):
        for _ in range(5):
            await asyncio.sleep(0)
        await at_once(instance_id, fencing_token=fencing_token)

    monkeypatch.setattr(scene.journal, "release", later)
    run = asyncio.create_task(scene.host.run("document.process", ORDER))

    def cancelled():
        run.cancel()  # it comes at the next wait, which is that for the lease
        raise asyncio.CancelledError

    scene.world.hooks["offer.archive"] = cancelled
    with pytest.raises(asyncio.CancelledError):
        await run
    await scene.host.close()
    assert await scene.journal.live_leases(scene.only()) == 0


async def test_the_end_is_one_commit_with_the_last_row():
    scene = Scene(document_plan())
    scene.world.ready_after = 1
    await scene.host.run("document.process", ORDER)
    last = scene.journal.commits[-1]
    assert [row.capability_id for row in last.rows] == ["document.extract", "document.processed"]
    assert (last.state, last.release_lease, len(last.events)) == (State.COMPLETED, True, 1)


async def test_what_an_attempt_read_from_outside_is_in_its_own_row():
    scene = Scene(plan(upload(0), archive(1)))
    drawn = []

    async def draws(request: Submit, ctx) -> Job:
        drawn.extend((ctx.new_id(), ctx.random.random()))
        return Job(job_id=str(ctx.new_id()))

    scene.new_host(substitutes={"ocr.upload": draws})
    await scene.host.run("document.process", ORDER)
    first, second = (await scene.history()).rows
    assert first.captured.ids[0] == drawn[0]
    assert len(first.captured.ids) == 2
    assert first.captured.random_seed is not None
    assert (second.captured.ids, second.captured.random_seed) == ((), None)
    assert first.captured.utc_now == scene.clock.now()


async def test_a_predicate_sees_the_instant_it_saw_on_every_pass():
    seen = []
    branch = Branch(2, lambda ctx: seen.append(ctx.utc_now) is None, 3)
    delays = (Delay(3, "a", timedelta(days=1)), Delay(4, "b", timedelta(days=1)))
    scene = Scene(plan(archive(0), upload(1), branch, *delays))
    scene.world.hooks["offer.archive"] = lambda: scene.clock.advance(timedelta(hours=1))
    at_the_upload = scene.clock.now() + timedelta(hours=1)
    await scene.host.run("document.process", ORDER)
    assert await scene.to_the_end() is State.COMPLETED
    assert seen == [at_the_upload] * 3


async def test_a_host_sweeps_by_itself_while_it_is_entered_and_drains_when_it_is_left():
    settled = asyncio.Event()
    scene = Scene(plan(upload(0), Delay(1, "short", timedelta(seconds=5)), extract(2)))
    scene.world.hooks["document.extract"] = settled.set
    host = scene.new_host(sweep_interval=timedelta(milliseconds=20))
    async with host:
        outcome = await host.run("document.process", ORDER)
        assert isinstance(outcome, Suspended)
        scene.clock.advance(timedelta(seconds=6))
        await asyncio.wait_for(settled.wait(), 5)
    assert await scene.state() is State.COMPLETED
    with pytest.raises(HostClosed):
        await host.run("document.process", ORDER)
    assert len(asyncio.all_tasks()) == 1


async def test_parking_leaves_no_task_behind():
    scene = Scene(saga_plan())
    async with scene.new_host(sweep_interval=timedelta(hours=1)) as host:
        await host.run("document.process", ORDER)
        before = len(asyncio.all_tasks())
        for number in range(20):
            await host.run("document.process", ORDER, idempotency_key=str(number))
        assert len(asyncio.all_tasks()) == before


async def test_many_senders_to_one_instance_lose_nothing_and_take_nothing_twice():
    scene = Scene(saga_plan())
    outcome = await scene.host.run("document.process", ORDER)
    hosts = [scene.new_host() for _ in range(5)]
    await asyncio.gather(*(host.signal(outcome.instance_id, Signed(by=str(n))) for n, host in enumerate(hosts)))
    assert (await scene.rows()).count("|1|offer.signed|Success") == 1
    assert len((await scene.history()).inbox) == 4


async def test_plain_functions_run_beside_the_event_loop():
    import threading

    threads = []
    scene = Scene(document_plan())
    scene.world.ready_after = 1
    scene.world.hooks["ocr.status"] = lambda: threads.append(threading.current_thread())
    scene.world.hooks["ocr.upload"] = lambda: threads.append(threading.current_thread())
    await scene.host.run("document.process", ORDER)
    assert threads[0] is threading.main_thread()
    assert threads[1] is not threading.main_thread()


async def test_the_capability_gives_what_it_declares_or_fails():
    scene = Scene(plan(upload(0), archive(1)))

    async def gives_another(request, ctx):
        return Submit(document_id="x")

    scene.new_host(substitutes={"offer.archive": gives_another})
    outcome = await scene.host.run("document.process", ORDER)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "capability.wrong_result"
    assert scene.world.effects == ["ocr.upload(o)", "ocr.cancel(job-o)"]


async def test_a_host_of_its_own_clock_and_journal_needs_nothing_else():
    clock = VirtualClock()
    scene = Scene()
    host = FlowHost([plan(extract(0), input=Job)], [CLASSES[4](scene.world)], journal=MemoryJournal(clock.now))
    assert isinstance(await host.run("document.process", Job(job_id="j")), Completed)


@pytest.mark.parametrize("what", ["run", "signal", "resume", "cancel", "retry"])
async def test_a_caller_that_is_cancelled_while_it_claims_leaves_no_lease_behind(what):
    scene = Scene(plan(upload(0), AwaitSignal(1, "offer.signed", SIGNED, timedelta(days=7), None), archive(2)))
    parked = (await scene.host.run("document.process", ORDER)).instance_id
    named = {"run": "start", "signal": "deliver", "resume": "claim", "cancel": "request_cancel", "retry": "claim"}[what]
    asked, may_answer = asyncio.Event(), asyncio.Event()
    call = getattr(scene.journal, named)

    async def slowly(*given, **terms):
        answer = await call(*given, **terms)
        asked.set()
        await may_answer.wait()
        return answer

    setattr(scene.journal, named, slowly)
    ask = {
        "run": partial(scene.host.run, "document.process", ORDER),
        "signal": partial(scene.host.signal, parked, Signed(by="ada")),
        "resume": partial(scene.host.resume, parked),
        "cancel": partial(scene.host.cancel, parked),
        "retry": partial(scene.host.retry, parked),
    }[what]
    asking = asyncio.ensure_future(ask())
    await asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    setattr(scene.journal, named, call)
    may_answer.set()
    await scene.host._engine.drain()
    for entry in await scene.journal.find(Filter()):
        assert await scene.journal.live_leases(entry.instance_id) == 0
    await scene.host.sweep_once()
    ends = {"signal": State.COMPLETED, "cancel": State.CANCELLED}
    state = (await scene.host.inspect(parked)).instance.state
    assert state is ends.get(what, State.SUSPENDED)


async def test_a_host_is_entered_once_and_says_so_after_it_was_left():
    scene = Scene(saga_plan())
    async with scene.host as host:
        parked = await host.run("document.process", ORDER)
        with pytest.raises(HostClosed, match="entered already"):
            await host.__aenter__()
    for ask in (host.__aenter__(), host.inspect(parked.instance_id), host.outcome(parked.instance_id)):
        with pytest.raises(HostClosed, match="has been left"):
            await ask


async def test_the_engines_own_deliveries_cannot_be_forged():
    scene = Scene(saga_plan())
    parked = await scene.host.run("document.process", ORDER)
    with pytest.raises(NotStorableText, match="child/"):
        await scene.host.signal(parked.instance_id, Signed(by="a"), delivery_id=f"child/{parked.instance_id}")


def test_durations_are_written_as_in_a_flow_and_nothing_else_is_one():
    scene = Scene(saga_plan())
    host = scene.new_host(sweep_interval="PT5S", lease_ttl="PT1M", drain="PT0S", catch_up="P1D")
    assert (host._interval, host._lease_ttl, host._drain) == (timedelta(seconds=5), timedelta(minutes=1), timedelta(0))
    for name in ("sweep_interval", "lease_ttl", "drain", "catch_up"):
        for wrong in (1.0, "soon", timedelta(seconds=-1)):
            with pytest.raises(NotADuration, match=name):
                scene.new_host(**{name: wrong})
