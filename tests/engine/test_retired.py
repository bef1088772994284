"""A retired plan that cannot run takes nothing down with it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from engine_plans import NOTE, Archive, Cancel, Submit, Unarchive, Upload, World, archive, plan, upload
from engine_scene import VirtualClock

from flowx_runtime import Completed, FlowHost, Suspended
from flowx_runtime.engine.capabilities import CapabilityMissing, CapabilityUnknown
from flowx_runtime.host.errors import NotRunnable
from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.plan import Catalog, CatalogEntry, Delay, Step, SubFlow
from flowx_runtime.plan.catalog import UnknownPlan

ORDER = Submit(document_id="o")
Listed = Callable[..., Catalog]


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Listed:
    """A catalogue of plan modules; an exception in place of a plan is what importing its module raises."""

    def listed(
        *plans: Any, lost: tuple[tuple[str, str], ...] = (), retired: tuple[tuple[str, str], ...] = ()
    ) -> Catalog:
        entries = [CatalogEntry(*identity, "no_such_package.plan", retired=identity in retired) for identity in lost]
        for number, each in enumerate(plans):
            name = f"plans_of_test_{number}"
            module = types.ModuleType(name)
            module.PLAN = each  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, name, module)
            identity = (each.flow_id, each.version)
            entries.append(CatalogEntry(*identity, name, retired=identity in retired))
        return Catalog(tuple(entries))

    return listed


OLD = ("old", "1.0.0")
PARKED = plan(Delay(0, "d", timedelta(days=1)), flow_id="old")
NEWER = plan(Delay(0, "d", timedelta(days=1)), flow_id="old", version="1.1.0")
OTHER = plan(Delay(0, "d", timedelta(days=1)), flow_id="other")


async def test_only_its_own_instances_stand_still_and_are_counted(
    catalog: Listed, caplog: pytest.LogCaptureFixture
) -> None:
    clock = VirtualClock()
    journal = MemoryJournal(clock=clock.now)
    before = FlowHost(catalog(PARKED), journal=journal, clock=clock, sweep_interval=None)
    parked = await before.run("old", ORDER)
    assert isinstance(parked, Suspended)
    host = FlowHost(
        catalog(NEWER, OTHER, lost=(OLD,), retired=(OLD,)), journal=journal, clock=clock, sweep_interval=None
    )
    (told,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert told.startswith("the retired plan of old 1.0.0 cannot run here (ModuleNotFoundError")
    assert "`flowx build --prune old@1.0.0`" in told
    other = await host.run("other", ORDER)
    assert isinstance(await host.run("old", ORDER), Suspended)
    clock.advance(timedelta(days=2))
    await host.sweep_once()
    assert isinstance(await host.outcome(other.instance_id), Completed)
    assert host.not_runnable == {("old", "1.0.0", "d1"): 1}
    assert isinstance(await host.outcome(parked.instance_id), Suspended)
    with pytest.raises(NotRunnable):
        await host.resume(parked.instance_id)


def test_a_retired_plan_that_runs_one_that_is_set_aside_is_set_aside_too(
    catalog: Listed, caplog: pytest.LogCaptureFixture
) -> None:
    parent = plan(SubFlow(0, "old", "old", "1.0.0", lambda ctx: ctx.input), flow_id="parent")
    above = plan(SubFlow(0, "parent", "parent", "1.0.0", lambda ctx: ctx.input), flow_id="above")
    FlowHost(catalog(OTHER, parent, above, lost=(OLD,), retired=(OLD, ("parent", "1.0.0"), ("above", "1.0.0"))))
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [text.partition(" cannot")[0] for text in told] == [
        "the retired plan of old 1.0.0",
        "the retired plan of parent 1.0.0",
        "the retired plan of above 1.0.0",
    ]


def test_a_current_plan_still_refuses(catalog: Listed) -> None:
    with pytest.raises(ModuleNotFoundError):
        FlowHost(catalog(OTHER, lost=(OLD,)))
    parent = plan(SubFlow(0, "old", "old", "1.0.0", lambda ctx: ctx.input), flow_id="parent")
    with pytest.raises(UnknownPlan, match=r"runs 'old' 1\.0\.0"):
        FlowHost(catalog(parent, lost=(OLD,), retired=(OLD,)))


def test_what_only_a_retired_plan_calls_may_be_missing(catalog: Listed, caplog: pytest.LogCaptureFixture) -> None:
    old = plan(archive(0), flow_id="old")
    current = plan(upload(0))
    world = World()
    given = [Upload(world), Cancel(world)]
    host = FlowHost(catalog(current, old, retired=(OLD,)), given, journal=MemoryJournal())
    assert [each.flow_id for each in host.current_plans] == ["document.process"]
    assert any("Archive (offer.archive)" in record.getMessage() for record in caplog.records)
    with pytest.raises(CapabilityMissing):
        FlowHost(catalog(current, old), given, journal=MemoryJournal())


def test_what_only_a_lost_plan_calls_may_be_given(catalog: Listed) -> None:
    world = World()
    given = [Archive(world), Unarchive(world)]
    note = plan(Step(0, "note", NOTE))
    FlowHost(catalog(note, lost=(OLD,), retired=(OLD,)), given, journal=MemoryJournal())
    with pytest.raises(CapabilityUnknown):
        FlowHost(catalog(note), given, journal=MemoryJournal())


def test_a_name_that_is_another_capability_now_is_not_called(catalog: Listed, caplog: pytest.LogCaptureFixture) -> None:
    former = plan(Step(0, "note", replace(NOTE, id="offer.sign", version="0.9.0")), flow_id="old")
    FlowHost(catalog(OTHER, former, retired=(OLD,)), journal=MemoryJournal())
    (told,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "note_signature was the capability 'offer.sign' and is 'offer.note'" in told


def test_a_capability_may_have_moved_on_under_a_retired_plan(catalog: Listed, caplog: pytest.LogCaptureFixture) -> None:
    former = plan(Step(0, "note", replace(NOTE, version="0.9.0", idempotent=False)), flow_id="old")
    FlowHost(catalog(OTHER, former, retired=(OLD,)), journal=MemoryJournal())
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
