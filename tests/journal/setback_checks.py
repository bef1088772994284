"""What every journal must do for setbacks: one check per sentence, as in `journal_checks`."""

from __future__ import annotations

from uuid import UUID, uuid4

from journal_checks import check
from journal_scene import NOON, claimed, delivery, done, ended, parked, row, started

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import Commit, State
from flowx_runtime.journal.setbacks import NODE_LOST


async def note(journal: Journal, instance_id: UUID, detail: str = "Order: name: missing") -> None:
    await journal.note_setback(instance_id, code="instance.unreadable", detail=detail, node="a/1")


@check
async def the_last_setback_of_an_instance_is_kept_and_those_since_the_last_commit_are_counted(journal: Journal) -> None:
    held, other = await parked(journal), await parked(journal)
    assert list(await journal.setbacks([held, other])) == []
    await note(journal, held)
    await note(journal, held, "no key: \N{SNOWMAN}")
    (kept,) = await journal.setbacks([other, held, uuid4()])
    assert (kept.instance_id, kept.code, kept.detail) == (held, "instance.unreadable", "no key: \N{SNOWMAN}")
    assert (kept.node, kept.times, kept.noted_at.utcoffset()) == ("a/1", 2, NOON.utcoffset())
    assert list(await journal.setbacks([])) == []


@check
async def a_setback_is_over_with_the_next_commit_and_counts_anew_after_it(journal: Journal) -> None:
    instance = await started(journal)
    await note(journal, instance)
    await done(journal, Commit(instance, 1, rows=(row(),)))
    assert list(await journal.setbacks([instance])) == []
    await note(journal, instance)
    (kept,) = await journal.setbacks([instance])
    assert kept.times == 1
    await done(journal, Commit(instance, 1, state=State.COMPLETED, output="{}", release_lease=True))
    assert list(await journal.setbacks([instance])) == []


@check
async def a_process_that_was_lost_once_is_no_setback_and_counts(journal: Journal) -> None:
    left = await started(journal)
    for times in (1, 2, 3):
        await journal.note_setback(left, code=NODE_LOST, detail="gone", node=f"n/{times}")
        assert [each.times for each in await journal.setbacks([left])] == ([] if times == 1 else [times])
    await note(journal, left)
    (kept,) = await journal.setbacks([left])
    assert (kept.code, kept.times) == ("instance.unreadable", 1)
    await done(journal, Commit(left, 1, rows=(row(),)))
    await journal.note_setback(left, code=NODE_LOST, detail="gone", node="n")
    assert list(await journal.setbacks([left])) == []


@check
async def a_claim_and_a_delivery_leave_a_setback(journal: Journal) -> None:
    held = await parked(journal)
    await note(journal, held)
    await journal.deliver(held, delivery())
    claim = await claimed(journal, held)
    await journal.release(held, fencing_token=claim.lease.fencing_token)
    assert len(await journal.setbacks([held])) == 1


@check
async def an_instance_that_is_unknown_or_has_ended_has_no_setback(journal: Journal) -> None:
    over = await ended(journal)
    for instance in (over, uuid4()):
        await note(journal, instance)
        assert list(await journal.setbacks([instance])) == []


@check
async def a_setback_goes_with_its_instance(journal: Journal) -> None:
    instance = await started(journal)
    await note(journal, instance)
    await done(journal, Commit(instance, 1, state=State.COMPLETED, output="{}", release_lease=True))
    pruned = await journal.prune(older_than=(await journal.now()).replace(year=9000))
    assert pruned.instances == 1
    assert list(await journal.setbacks([instance])) == []
