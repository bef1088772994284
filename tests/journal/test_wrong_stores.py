"""The suite would notice: stores with one deliberate fault each, and the checks that must reject them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import once_checks  # noqa: F401  # adds its checks to CHECKS
import outbox_checks  # noqa: F401  # adds its checks to CHECKS
import pause_checks  # noqa: F401  # adds its checks to CHECKS
import pytest
import setback_checks  # noqa: F401  # adds its checks to CHECKS
from journal_checks import CHECKS
from schedule_checks import SCHEDULE_CHECKS

from flowx_runtime.journal.memory import MemoryJournal
from flowx_runtime.journal.once import OnceRecord
from flowx_runtime.journal.outbox import EventClaim, Settlement
from flowx_runtime.journal.records import (
    Claimed,
    Commit,
    Committed,
    Delivery,
    History,
    Refusal,
    Refused,
    Started,
    State,
)
from flowx_runtime.journal.schedules import ScheduleRow


class LosesTheFence(MemoryJournal):
    """Lets a former owner write."""

    async def commit(self, commit: Commit) -> Committed | Refused:
        return await super().commit(replace(commit, fencing_token=10**9))


class RaisesTheFenceLate(MemoryJournal):
    """Reads the history before it raises the fence."""

    async def claim(self, instance_id: UUID, *, owner: str, ttl: timedelta) -> Claimed | Refused:
        before = await self.read(instance_id)
        answer = await super().claim(instance_id, owner=owner, ttl=ttl)
        return answer if isinstance(answer, Refused) or before is None else replace(answer, history=before)


class GivesTheOwnerASecondLease(MemoryJournal):
    """Treats a claim by the lease's own owner as a renewal."""

    async def claim(self, instance_id: UUID, *, owner: str, ttl: timedelta) -> Claimed | Refused:
        entry = self._entries.get(instance_id)
        if entry is not None and entry.lease.owner == owner:
            await self.release(instance_id, fencing_token=entry.lease.fencing_token)
        return await super().claim(instance_id, owner=owner, ttl=ttl)


class ParksOnASignalThatArrived(MemoryJournal):
    """Does not look into the inbox when it parks."""

    def _refusal(self, entry: Any, commit: Commit) -> Refused | None:
        answer = super()._refusal(entry, commit)
        return None if answer is not None and answer.reason is Refusal.SIGNAL_ARRIVED else answer


class WritesBeforeItRefuses(MemoryJournal):
    """Stages the events of a commit that it then refuses."""

    def _refusal(self, entry: Any, commit: Commit) -> Refused | None:
        entry.events.update({event.event_id: event for event in commit.events})
        return super()._refusal(entry, commit)


class OverwritesARow(MemoryJournal):
    """Takes a repeated key for a correction."""

    def _refusal(self, entry: Any, commit: Commit) -> Refused | None:
        fresh = {(row.scope, row.step_id, row.attempt) for row in commit.rows}
        entry.keys -= fresh
        entry.rows = [row for row in entry.rows if (row.scope, row.step_id, row.attempt) not in fresh]
        return super()._refusal(entry, commit)


class ForgetsTakenDeliveries(MemoryJournal):
    """Takes the same delivery again once it was consumed."""

    async def deliver(self, instance_id: UUID, delivery: Delivery, **terms: Any) -> Claimed | Refused | None:
        entry = self._entries.get(instance_id)
        if entry is not None and delivery.delivery_id in entry.taken:
            entry.taken.discard(delivery.delivery_id)
        return await super().deliver(instance_id, delivery, **terms)


class ClaimsWhateverWasToldSomething(MemoryJournal):
    """Gives an instance to whoever delivers to it, whether it waits for that or not."""

    def _claimed_after(self, entry: Any, claimant: Any) -> Claimed | None:
        return None if claimant is None else self._acquire(entry, claimant.owner, claimant.ttl)


class LeavesWhatWasToldToTheSweeps(MemoryJournal):
    """Accepts a delivery and then claims, which are two steps."""

    async def deliver(self, instance_id: UUID, delivery: Delivery, **terms: Any) -> Claimed | Refused | None:
        answer = await super().deliver(instance_id, delivery)
        await asyncio.sleep(0)
        entry = self._entries.get(instance_id)
        return answer or (None if entry is None else self._claimed_after(entry, terms.get("claim_for")))


class WakesTheUndue(MemoryJournal):
    """Judges what is due by nothing at all."""

    async def claim_due(self, *, now: datetime, **terms: Any) -> Sequence[Claimed]:
        return await super().claim_due(now=now + timedelta(days=365), **terms)


class KeepsTheLeaseWhenParking(MemoryJournal):
    """Parks without giving the lease up."""

    async def commit(self, commit: Commit) -> Committed | Refused:
        return await super().commit(replace(commit, release_lease=False))


class StartsEveryTime(MemoryJournal):
    """Takes a repeated start for a new owner."""

    async def start(self, instance: Any, *, owner: str, ttl: timedelta) -> Started:
        self._entries.pop(instance.instance_id, None)
        return await super().start(instance, owner=owner, ttl=ttl)


class NormalisesPayloads(MemoryJournal):
    """Stores JSON values, not their text, as `jsonb` does."""

    async def read(self, instance_id: UUID) -> History | None:
        read = await super().read(instance_id)
        if read is None:
            return None
        rows = (replace(row, result=None if row.result is None else "".join(row.result.split())) for row in read.rows)
        return replace(read, rows=tuple(rows))


class ParksOverACancel(MemoryJournal):
    """Parks and forgets that somebody asked to cancel."""

    def _apply(self, entry: Any, commit: Commit) -> None:
        super()._apply(entry, commit)
        entry.signalled = False


class ReopensUnderTheOldFence(MemoryJournal):
    """Lets whoever ended an instance write to it again once it is reopened."""

    async def reopen(self, instance_id: UUID, by: str, **terms: Any) -> Claimed | Refused | None:
        answer = await super().reopen(instance_id, by, **terms)
        if answer is None:
            entry = self._entries[instance_id]
            entry.row = replace(entry.row, fence=entry.row.fence - 1)
        return answer


class ReopensWhateverEnded(MemoryJournal):
    """Lets an instance that failed go back although nothing of it is left to undo."""

    async def reopen(self, instance_id: UUID, by: str, **terms: Any) -> Claimed | Refused | None:
        entry = self._entries.get(instance_id)
        if entry is not None and entry.row.state.is_terminal:
            entry.row = replace(entry.row, state=State.COMPENSATION_FAILED)
        return await super().reopen(instance_id, by, **terms)


class PrunesWhatIsUnpublished(MemoryJournal):
    """Removes whatever has ended."""

    def _is_prunable(self, entry: Any, older_than: datetime, states: Any) -> bool:
        return entry.row.state.is_terminal and entry.row.state in states


class HandsOutWhatSomebodyHas(MemoryJournal):
    """Looks at no claim when it makes one."""

    async def claim_events(self, *, owner: str, ttl: timedelta, limit: int, per_instance: int = 64) -> EventClaim:
        for queue in self._queues.values():
            queue.claimed_until = None
        return await super().claim_events(owner=owner, ttl=ttl, limit=limit, per_instance=per_instance)


class LetsLaterEventsPass(MemoryJournal):
    """Skips an event that waits for another try."""

    def _publishable(self, now: datetime) -> list[Any]:
        for queue in self._queues.values():
            for waiting in queue.events.values():
                waiting.next_attempt_at = now if waiting.attempts == 0 else waiting.next_attempt_at
            queue.events = dict(sorted(queue.events.items(), key=lambda item: item[1].next_attempt_at))
        return super()._publishable(now)


class TakesFailuresFromAnyone(MemoryJournal):
    """Does not ask who had the instance."""

    async def settle_events(self, settlement: Settlement) -> None:
        claims = {instance_id: queue.claim_id for instance_id, queue in self._queues.items()}
        failed = (replace(each, claim_id=claims[each.instance_id] or each.claim_id) for each in settlement.failed)
        await super().settle_events(replace(settlement, failed=tuple(failed)))


class TakesTheLastSave(MemoryJournal):
    """Stores a schedule whoever saw what."""

    async def save_schedule(self, row: ScheduleRow) -> bool:
        stored = self._schedules.get(row.key)
        return await super().save_schedule(replace(row, revision=0 if stored is None else stored.revision))


class RevivesWhatWasRemoved(MemoryJournal):
    """Creates the schedule that a save means to change."""

    async def save_schedule(self, row: ScheduleRow) -> bool:
        return await super().save_schedule(row if row.key in self._schedules else replace(row, revision=0))


class KeepsOneScheduleOfAFlow(MemoryJournal):
    """Takes another expression for the same schedule."""

    async def save_schedule(self, row: ScheduleRow) -> bool:
        self._schedules = {key: kept for key, kept in self._schedules.items() if key[0] != row.flow_id}
        return await super().save_schedule(row)


class TakesRecordsFromAnyone(MemoryJournal):
    """Lets a former owner record what a step left."""

    def _write_refused(self, instance_id: UUID, fencing_token: int) -> Refused | None:
        return super()._write_refused(instance_id, 10**9)


class RecordsASecondResult(MemoryJournal):
    """Takes a second result of a step for a correction."""

    async def record_once(
        self, instance_id: UUID, records: Sequence[OnceRecord], *, fencing_token: int
    ) -> Refused | None:
        for record in records:
            self._once.get(instance_id, {}).pop(record.path, None)
        return await super().record_once(instance_id, records, fencing_token=fencing_token)


class MixesUpPathsThatBeginAlike(MemoryJournal):
    """Takes every path that begins with the same letters for one below."""

    async def once_records(self, instance_id: UUID, path: str) -> Sequence[OnceRecord]:
        kept = self._once.get(instance_id, {})
        return [kept[at] for at in sorted(kept) if at.startswith(path)]


class WakesWhatIsPaused(MemoryJournal):
    """Looks for pauses only where an instance is asked for by its id."""

    async def claim_due(self, **terms: Any) -> Sequence[Claimed]:
        held, self._pauses = self._pauses, {}
        given = await super().claim_due(**terms)
        self._pauses = held
        return given


class ForgetsWhatCameWhilePaused(MemoryJournal):
    """Takes a delivery for a paused flow as met."""

    async def deliver(self, instance_id: UUID, delivery: Delivery, **terms: Any) -> Claimed | Refused | None:
        answer = await super().deliver(instance_id, delivery, **terms)
        entry = self._entries.get(instance_id)
        if entry is not None and self._is_paused(entry.row):
            entry.signalled = False
        return answer


class KeepsASetbackForEver(MemoryJournal):
    """Shows why an instance once stood still, although it has gone on."""

    def _apply(self, entry: Any, commit: Commit) -> None:
        held = dict(self._setbacks)
        super()._apply(entry, commit)
        self._setbacks = held


class PausesOnlyFlows(MemoryJournal):
    """Knows no pause of a single instance."""

    def _is_paused(self, row: Any) -> bool:
        return row.flow_id in self._pauses or "*" in self._pauses


FAULTS = [
    (WakesWhatIsPaused, "what_is_due_of_a_paused_flow_is_given_out_when_the_pause_is_over"),
    (KeepsASetbackForEver, "a_setback_is_over_with_the_next_commit_and_counts_anew_after_it"),
    (WakesWhatIsPaused, "while_everything_is_paused_nothing_is_given_out"),
    (ForgetsWhatCameWhilePaused, "a_signal_for_a_paused_flow_is_kept_and_given_out_when_the_pause_is_over"),
    (PausesOnlyFlows, "one_instance_is_paused_without_the_others_of_its_flow"),
    (TakesRecordsFromAnyone, "a_former_owner_records_nothing"),
    (RecordsASecondResult, "a_failure_is_replaced_and_what_is_done_is_not"),
    (RecordsASecondResult, "of_two_that_finish_one_step_at_the_same_time_one_is_recorded"),
    (MixesUpPathsThatBeginAlike, "once_records_are_those_of_a_path_and_below_it"),
    (HandsOutWhatSomebodyHas, "an_instance_is_given_to_one_claim_at_a_time"),
    (HandsOutWhatSomebodyHas, "concurrent_claims_share_the_instances"),
    (LetsLaterEventsPass, "an_event_that_failed_waits_and_those_behind_it_wait_too"),
    (TakesFailuresFromAnyone, "a_lapsed_claim_is_no_claim_and_its_failures_do_not_count"),
    (PrunesWhatIsUnpublished, "an_event_stays_with_its_instance_until_it_is_published_or_dropped"),
    (TakesTheLastSave, "a_save_that_has_not_seen_the_latest_is_refused_and_changes_nothing"),
    (TakesTheLastSave, "of_twenty_concurrent_saves_of_one_revision_one_is_stored"),
    (RevivesWhatWasRemoved, "only_who_has_seen_the_latest_removes_a_schedule"),
    (KeepsOneScheduleOfAFlow, "schedules_differ_by_flow_expression_and_zone"),
    (ParksOverACancel, "a_parked_instance_that_is_to_be_cancelled_is_given_out_however_it_came_to_park"),
    (PrunesWhatIsUnpublished, "an_event_that_is_not_published_keeps_its_instance"),
    (PrunesWhatIsUnpublished, "a_child_is_kept_for_as_long_as_its_parent_is_open"),
    (ReopensUnderTheOldFence, "who_ended_an_instance_writes_no_more_to_it_when_it_is_reopened"),
    (ReopensWhateverEnded, "only_what_ended_with_a_failed_undo_is_reopened"),
    (LosesTheFence, "a_stale_token_is_refused"),
    (RaisesTheFenceLate, "the_fence_rises_on_acquisition_before_the_history_is_read"),
    (GivesTheOwnerASecondLease, "a_live_lease_refuses_everyone_its_owner_included"),
    (ParksOnASignalThatArrived, "a_delivery_before_the_wait_refuses_the_park"),
    (ParksOnASignalThatArrived, "a_delivery_and_a_park_at_the_same_time_always_meet"),
    (WritesBeforeItRefuses, "a_refused_commit_writes_nothing"),
    (OverwritesARow, "a_repeated_key_is_refused_not_overwritten"),
    (ForgetsTakenDeliveries, "the_same_delivery_id_is_one_delivery"),
    (ClaimsWhateverWasToldSomething, "a_delivery_that_meets_no_wait_claims_nothing"),
    (ClaimsWhateverWasToldSomething, "a_delivery_to_what_somebody_works_on_claims_nothing"),
    (ClaimsWhateverWasToldSomething, "of_many_who_deliver_at_once_one_claims"),
    (ClaimsWhateverWasToldSomething, "what_is_paused_is_claimed_by_nobody_who_tells_it_something"),
    (LeavesWhatWasToldToTheSweeps, "no_sweep_comes_between_a_delivery_and_its_claim"),
    (WakesTheUndue, "only_due_instances_are_claimed_longest_due_first"),
    (KeepsTheLeaseWhenParking, "parking_keeps_the_waits_and_releases_the_lease"),
    (StartsEveryTime, "starting_again_gives_the_first_instance_and_no_lease"),
    (NormalisesPayloads, "payload_text_is_kept_verbatim"),
]


@pytest.mark.parametrize(("store", "named"), FAULTS, ids=[f"{store.__name__}-{named}" for store, named in FAULTS])
async def test_the_check_that_names_the_fault_rejects_the_store(store: type[MemoryJournal], named: str) -> None:
    with pytest.raises(AssertionError):
        await (CHECKS | SCHEDULE_CHECKS)[named](store())
