"""What every journal must do: one check per sentence, run against every store, and against stores made wrong.

A check's name is the behaviour. It gets an empty journal and says by an assertion what it found instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from uuid import UUID, uuid4

from journal_scene import (
    LONG,
    NOON,
    OVER,
    abandoned,
    claim_refused,
    claimed,
    delivery,
    done,
    due,
    ended,
    event,
    history,
    new,
    parked,
    refused,
    row,
    started,
    wait,
)

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.records import (
    REOPENED,
    TERMINAL,
    Captured,
    Claimant,
    Claimed,
    Commit,
    Committed,
    Filter,
    NewInstance,
    Pruned,
    Refusal,
    Refused,
    RowOutcome,
    State,
    StoredError,
    Wake,
)

Check: TypeAlias = Callable[[Journal], Awaitable[None]]
CHECKS: dict[str, Check] = {}
SECOND = timedelta(seconds=1)


def check(function: Check) -> Check:
    CHECKS[function.__name__] = function  # type: ignore[attr-defined]
    return function


# Starting


@check
async def an_instance_starts_running_with_a_lease_and_all_it_was_given(journal: Journal) -> None:
    instance = new(
        deadline_at=NOON,
        correlation_id="c-1",
        tenant_id="acme",
        parent_instance_id=uuid4(),
        parent_scope="7",
        parent_step_id=3,
        input='{"b": 1,  "a": [ ]}',
    )
    answer = await journal.start(instance, owner="a", ttl=LONG)
    assert answer.lease is not None
    assert (answer.lease.owner, answer.lease.instance_id) == ("a", instance.instance_id)
    assert answer.lease.expires_at - await journal.now() > LONG - timedelta(minutes=1)
    stored = await history(journal, instance.instance_id)
    assert answer.history == stored
    assert stored.rows == stored.inbox == stored.instance.waits == ()
    assert (stored.instance.state, stored.instance.fence) == (State.RUNNING, 1)
    for name in set(NewInstance.__dataclass_fields__) - {"parked"}:
        assert getattr(stored.instance, name) == getattr(instance, name), name
    assert await journal.live_leases(instance.instance_id) == 1


@check
async def starting_again_gives_the_first_instance_and_no_lease(journal: Journal) -> None:
    instance = new()
    await journal.start(instance, owner="a", ttl=LONG)
    await done(journal, Commit(instance.instance_id, 1, rows=(row(),)))
    again = await journal.start(replace(instance, input='"other"'), owner="b", ttl=LONG)
    assert again.lease is None
    assert again.history == await history(journal, instance.instance_id)
    assert (again.history.instance.input, len(again.history.rows)) == (instance.input, 1)


@check
async def of_fifty_concurrent_starts_one_gets_the_lease(journal: Journal) -> None:
    instance = new()
    answers = await asyncio.gather(*(journal.start(instance, owner=f"n{n}", ttl=LONG) for n in range(50)))
    assert sum(answer.lease is not None for answer in answers) == 1
    assert {answer.history.instance.instance_id for answer in answers} == {instance.instance_id}


@check
async def a_child_is_an_instance_of_its_own(journal: Journal) -> None:
    parent = await started(journal)
    child = await started(journal, parent_instance_id=parent, parent_scope="2", parent_step_id=4)
    await done(journal, Commit(child, 1, rows=(row(),)))
    assert (await history(journal, parent)).rows == ()
    kept = (await history(journal, child)).instance
    assert (kept.parent_instance_id, kept.parent_scope, kept.parent_step_id) == (parent, "2", 4)
    assert (await history(journal, parent)).instance.parent_instance_id is None


# Committing


@check
async def the_key_of_a_row_is_scope_step_and_attempt(journal: Journal) -> None:
    instance_id = await started(journal)
    rows = (row(0), row(0, scope="7"), row(0, scope="7/2"), row(1), row(0, attempt=2))
    await done(journal, Commit(instance_id, 1, rows=rows))
    kept = (await history(journal, instance_id)).rows
    assert [(r.scope, r.step_id, r.attempt) for r in kept] == [(r.scope, r.step_id, r.attempt) for r in rows]


@check
async def a_repeated_key_is_refused_not_overwritten(journal: Journal) -> None:
    instance_id = await started(journal)
    await done(journal, Commit(instance_id, 1, rows=(row(result='"first"'),)))
    assert await refused(journal, Commit(instance_id, 1, rows=(row(result='"second"'),))) is Refusal.DUPLICATE_STEP
    assert [r.result for r in (await history(journal, instance_id)).rows] == ['"first"']


@check
async def a_key_twice_in_one_commit_is_refused(journal: Journal) -> None:
    instance_id = await started(journal)
    assert await refused(journal, Commit(instance_id, 1, rows=(row(), row()))) is Refusal.DUPLICATE_STEP
    assert (await history(journal, instance_id)).rows == ()


@check
async def a_refused_commit_writes_nothing(journal: Journal) -> None:
    instance_id = await started(journal)
    await done(journal, Commit(instance_id, 1, rows=(row(),)))
    await journal.deliver(instance_id, delivery())
    before = await history(journal, instance_id)
    commit = Commit(
        instance_id,
        1,
        rows=(row(5), row()),
        events=(event(),),
        taken_deliveries=("d-1",),
        state=State.COMPLETED,
        output="1",
        error=StoredError("a.b", "Internal", "no"),
        release_lease=True,
    )
    assert await refused(journal, commit) is Refusal.DUPLICATE_STEP
    assert await history(journal, instance_id) == before
    assert tuple(await journal.events(instance_id)) == ()
    assert await journal.live_leases(instance_id) == 1


@check
async def rows_events_and_state_commit_together(journal: Journal) -> None:
    instance_id = await started(journal)
    await journal.deliver(instance_id, delivery())
    staged = (event("one"), event("two"))
    error = StoredError("card.declined", "Conflict", "no")
    await done(
        journal,
        Commit(
            instance_id,
            1,
            rows=(row(),),
            events=staged,
            taken_deliveries=("d-1",),
            state=State.FAILED,
            output='"o"',
            error=error,
            release_lease=True,
        ),
    )
    kept = await history(journal, instance_id)
    assert (len(kept.rows), kept.inbox) == (1, ())
    assert (kept.instance.state, kept.instance.output, kept.instance.error) == (State.FAILED, '"o"', error)
    assert tuple(await journal.events(instance_id)) == staged
    assert await journal.live_leases(instance_id) == 0


@check
async def a_commit_without_output_error_or_state_leaves_them(journal: Journal) -> None:
    instance_id = await started(journal)
    error = StoredError("card.declined", "Conflict", "no")
    await done(journal, Commit(instance_id, 1, state=State.COMPENSATING, error=error, output="1"))
    await done(journal, Commit(instance_id, 1, rows=(row(),)))
    await done(journal, Commit(instance_id, 1, state=State.FAILED, release_lease=True))
    kept = (await history(journal, instance_id)).instance
    assert (kept.state, kept.error, kept.output) == (State.FAILED, error, "1")


@check
async def an_event_staged_twice_is_one_event(journal: Journal) -> None:
    instance_id = await started(journal)
    first, second = event(), event()
    await done(journal, Commit(instance_id, 1, events=(first,)))
    await done(journal, Commit(instance_id, 1, events=(first, second)))
    assert tuple(await journal.events(instance_id)) == (first, second)


@check
async def a_stale_token_is_refused(journal: Journal) -> None:
    instance_id = await started(journal, ttl=OVER)
    await claimed(journal, instance_id)
    for commit in (
        Commit(instance_id, 1, rows=(row(),)),
        Commit(instance_id, 1, state=State.COMPLETED),
        Commit(instance_id, 1, state=State.SUSPENDED, waits=(wait(),)),
    ):
        assert await refused(journal, commit) is Refusal.FENCED_OUT
    assert (await history(journal, instance_id)).rows == ()


@check
async def the_fence_rises_on_acquisition_before_the_history_is_read(journal: Journal) -> None:
    instance_id = await started(journal, ttl=OVER)
    claim = await claimed(journal, instance_id)
    assert claim.lease.fencing_token == claim.history.instance.fence == 2
    assert (await history(journal, instance_id)).instance.fence == 2


@check
async def a_fenced_out_owner_of_an_ended_instance_is_told_of_the_fence(journal: Journal) -> None:
    instance_id = await started(journal, ttl=OVER)
    await claimed(journal, instance_id)
    await done(journal, Commit(instance_id, 2, state=State.COMPLETED, release_lease=True))
    assert await refused(journal, Commit(instance_id, 1, rows=(row(),))) is Refusal.FENCED_OUT


@check
async def one_token_commits_many_steps(journal: Journal) -> None:
    instance_id = await started(journal)
    answers = [await done(journal, Commit(instance_id, 1, rows=(row(n), row(n, scope="7")))) for n in range(4)]
    assert [answer.last_sequence for answer in answers] == [2, 4, 6, 8]


@check
async def history_is_in_commit_order(journal: Journal) -> None:
    instance_id = await started(journal)
    for step_id in (4, 0, 2):
        await done(journal, Commit(instance_id, 1, rows=(row(step_id), row(step_id, scope="b"))))
    kept = (await history(journal, instance_id)).rows
    assert [r.step_id for r in kept] == [4, 4, 0, 0, 2, 2]
    assert [r.scope for r in kept] == ["", "b"] * 3
    assert [r.sequence for r in kept] == [1, 2, 3, 4, 5, 6]
    moments = [r.committed_at for r in kept]
    assert None not in moments
    assert moments == sorted(moments)  # type: ignore[type-var]


@check
async def concurrent_commits_number_their_rows_without_gaps(journal: Journal) -> None:
    instance_id = await started(journal)
    await asyncio.gather(*(done(journal, Commit(instance_id, 1, rows=(row(n),))) for n in range(20)))
    kept = (await history(journal, instance_id)).rows
    assert [r.sequence for r in kept] == list(range(1, 21))
    assert {r.step_id for r in kept} == set(range(20))


@check
async def of_concurrent_commits_of_one_key_one_is_written(journal: Journal) -> None:
    instance_id = await started(journal)
    answers = await asyncio.gather(
        *(journal.commit(Commit(instance_id, 1, rows=(row(result=str(n)),), events=(event(),))) for n in range(10))
    )
    assert sum(isinstance(answer, Committed) for answer in answers) == 1
    assert {answer.reason for answer in answers if isinstance(answer, Refused)} == {Refusal.DUPLICATE_STEP}
    assert len(await journal.events(instance_id)) == 1


@check
async def a_row_is_given_back_as_it_was_committed(journal: Journal) -> None:
    instance_id = await started(journal)
    rows = (
        row(
            1,
            scope="7/2",
            attempt=3,
            outcome=RowOutcome.FAILURE,
            result=None,
            request='{"x": 1}',
            error=StoredError("card.declined", "Conflict", 'it\'s "no"\n😀\t'),
            captured=Captured(NOON.replace(microsecond=123456), (uuid4(), uuid4()), 2**127 + 1),
            duration_ms=2**40,
        ),
        row(2, outcome=RowOutcome.COMPENSATED, capability_id="", captured=Captured(random_seed=0)),
        row(3, outcome=RowOutcome.DEGRADED),
    )
    await done(journal, Commit(instance_id, 1, rows=rows))
    kept = (await history(journal, instance_id)).rows
    assert tuple(replace(r, sequence=0, committed_at=None) for r in kept) == rows


@check
async def a_step_that_drew_nothing_has_no_seed(journal: Journal) -> None:
    instance_id = await started(journal)
    await done(journal, Commit(instance_id, 1, rows=(row(0), row(1, captured=Captured(random_seed=0)))))
    assert [r.captured.random_seed for r in (await history(journal, instance_id)).rows] == [None, 0]


@check
async def payload_text_is_kept_verbatim(journal: Journal) -> None:
    instance_id = await started(journal)
    texts = ['{"b":1,  "a" : 2, "a":3}', '"\\u0000\\ud83d"', "1.10e+2", "null", '"☃ \\" \\\\ %s {} $1"', " [ ] "]
    rows = tuple(row(n, result=text, request=text) for n, text in enumerate(texts))
    await done(journal, Commit(instance_id, 1, rows=rows, state=State.COMPLETED, output=texts[0], release_lease=True))
    kept = await history(journal, instance_id)
    assert [r.result for r in kept.rows] == [r.request for r in kept.rows] == texts
    assert kept.instance.output == texts[0]


@check
async def no_result_differs_from_a_result_of_null(journal: Journal) -> None:
    instance_id = await started(journal)
    await done(journal, Commit(instance_id, 1, rows=(row(0, result=None), row(1, result="null"))))
    assert [r.result for r in (await history(journal, instance_id)).rows] == [None, "null"]


@check
async def an_error_with_any_text_is_stored(journal: Journal) -> None:
    instance_id = await started(journal)
    error = StoredError("step.failed", "Internal", "nul \x00 and half a pair \ud800")
    await done(journal, Commit(instance_id, 1, rows=(row(outcome=RowOutcome.FAILURE, error=error),), error=error))
    kept = (await history(journal, instance_id)).rows[0].error
    assert kept is not None
    assert kept.detail.startswith("nul ")


@check
async def an_ended_instance_takes_no_further_write_and_holds_no_lease(journal: Journal) -> None:
    for state in (State.COMPLETED, State.FAILED, State.TIMED_OUT, State.COMPENSATION_FAILED, State.CANCELLED):
        instance_id = await started(journal)
        await done(journal, Commit(instance_id, 1, state=state))
        before = await history(journal, instance_id)
        assert await refused(journal, Commit(instance_id, 1, rows=(row(),))) is Refusal.INSTANCE_TERMINAL
        assert await refused(journal, Commit(instance_id, 1, state=State.COMPLETED)) is Refusal.INSTANCE_TERMINAL
        assert await claim_refused(journal, instance_id) is Refusal.INSTANCE_TERMINAL
        assert await journal.deliver(instance_id, delivery()) == Refused(Refusal.INSTANCE_TERMINAL)
        assert await history(journal, instance_id) == before
        assert await journal.live_leases(instance_id) == 0


@check
async def an_unknown_instance_is_an_answer(journal: Journal) -> None:
    nobody = uuid4()
    assert await journal.read(nobody) is None
    assert await refused(journal, Commit(nobody, 1, rows=(row(),))) is Refusal.UNKNOWN_INSTANCE
    assert await claim_refused(journal, nobody) is Refusal.UNKNOWN_INSTANCE
    assert await journal.deliver(nobody, delivery()) == Refused(Refusal.UNKNOWN_INSTANCE)
    assert tuple(await journal.events(nobody)) == ()
    assert await journal.live_leases(nobody) == 0
    await journal.release(nobody, fencing_token=1)
    assert await journal.renew([nobody], owner="a", ttl=LONG) == frozenset()


# Leases


@check
async def a_live_lease_refuses_everyone_its_owner_included(journal: Journal) -> None:
    instance_id = await started(journal, owner="a")
    assert await claim_refused(journal, instance_id, owner="b") is Refusal.LEASE_HELD
    assert await claim_refused(journal, instance_id, owner="a") is Refusal.LEASE_HELD
    assert (await history(journal, instance_id)).instance.fence == 1
    await done(journal, Commit(instance_id, 1, rows=(row(),)))


@check
async def leases_on_different_instances_do_not_exclude_each_other(journal: Journal) -> None:
    one, other = await parked(journal), await parked(journal)
    await claimed(journal, one)
    await claimed(journal, other)


@check
async def every_acquisition_has_a_higher_token(journal: Journal) -> None:
    instance_id = await started(journal, ttl=OVER)
    tokens = [(await claimed(journal, instance_id, ttl=OVER)).lease.fencing_token for _ in range(3)]
    await claimed(journal, instance_id)
    await done(journal, Commit(instance_id, 5, state=State.SUSPENDED, waits=(wait(),), release_lease=True))
    tokens.append((await claimed(journal, instance_id)).lease.fencing_token)
    assert tokens == [2, 3, 4, 6]


@check
async def an_expired_lease_is_no_lease(journal: Journal) -> None:
    instance_id = await started(journal, ttl=OVER)
    assert await journal.live_leases(instance_id) == 0
    assert (await claimed(journal, instance_id, owner="b")).lease.owner == "b"
    assert await journal.live_leases(instance_id) == 1


@check
async def renewal_extends_the_owners_live_leases_and_no_others(journal: Journal) -> None:
    mine = await started(journal, owner="a", ttl=timedelta(minutes=1))
    theirs = await started(journal, owner="b")
    over = await started(journal, owner="a", ttl=OVER)
    assert await journal.renew([over, theirs, mine], owner="a", ttl=LONG) == {mine}
    assert await journal.live_leases(over) == 0
    assert await journal.renew([mine], owner="a", ttl=OVER) == {mine}
    assert await journal.live_leases(mine) == 0
    assert await claim_refused(journal, theirs, owner="a") is Refusal.LEASE_HELD


@check
async def renewal_keeps_the_token(journal: Journal) -> None:
    instance_id = await started(journal)
    await journal.renew([instance_id], owner="a", ttl=LONG)
    await done(journal, Commit(instance_id, 1, rows=(row(),)))
    assert (await history(journal, instance_id)).instance.fence == 1


@check
async def releasing_makes_the_instance_claimable_at_once(journal: Journal) -> None:
    instance_id = await started(journal)
    await journal.release(instance_id, fencing_token=1)
    assert await journal.live_leases(instance_id) == 0
    assert (await claimed(journal, instance_id)).lease.fencing_token == 2


@check
async def a_superseded_token_releases_nothing(journal: Journal) -> None:
    instance_id = await started(journal, ttl=OVER)
    await claimed(journal, instance_id)
    await journal.release(instance_id, fencing_token=1)
    assert await journal.live_leases(instance_id) == 1


@check
async def of_concurrent_claims_one_gets_the_lease(journal: Journal) -> None:
    instance_id = await parked(journal)
    answers = await asyncio.gather(*(journal.claim(instance_id, owner=f"n{n}", ttl=LONG) for n in range(20)))
    assert sum(isinstance(answer, Claimed) for answer in answers) == 1
    assert {answer.reason for answer in answers if isinstance(answer, Refused)} == {Refusal.LEASE_HELD}


# Parking and waking


@check
async def parking_keeps_the_waits_and_releases_the_lease(journal: Journal) -> None:
    instance_id = await parked(journal, wait("paid", step_id=3, scope="7", at=NOON))
    kept = (await history(journal, instance_id)).instance
    assert kept.state is State.SUSPENDED
    assert kept.waits == (wait("paid", step_id=3, scope="7", at=NOON),)
    assert kept.wake == Wake(NOON, 3, "7")
    assert await journal.live_leases(instance_id) == 0


@check
async def several_waits_are_all_kept_and_the_earliest_wakes(journal: Journal) -> None:
    waits = (wait("b", step_id=1, at=NOON + SECOND), wait(None, step_id=2, at=NOON), wait("c", step_id=3, scope="4"))
    instance_id = await parked(journal, *waits[:2], replace(waits[2], wake_at=NOON + 2 * SECOND))
    kept = (await history(journal, instance_id)).instance
    assert set(kept.waits) == {*waits[:2], replace(waits[2], wake_at=NOON + 2 * SECOND)}
    assert kept.wake == Wake(NOON, 2, "")
    assert await journal.next_wake() == NOON
    assert await due(journal, NOON - SECOND) == []
    assert await due(journal, NOON) == [instance_id]


@check
async def parking_again_replaces_the_waits_and_going_on_clears_them(journal: Journal) -> None:
    instance_id = await parked(journal, wait("a", step_id=1), wait("b", step_id=2))
    await claimed(journal, instance_id)
    again = (wait("b", step_id=2), wait("c", step_id=3))
    await done(journal, Commit(instance_id, 2, state=State.SUSPENDED, waits=again))
    assert set((await history(journal, instance_id)).instance.waits) == set(again)
    await done(journal, Commit(instance_id, 2, state=State.RUNNING))
    kept = (await history(journal, instance_id)).instance
    assert (kept.waits, kept.wake, kept.state) == ((), None, State.RUNNING)
    assert await journal.next_wake() is None


@check
async def a_delivery_before_the_wait_refuses_the_park(journal: Journal) -> None:
    instance_id = await started(journal)
    assert await journal.deliver(instance_id, delivery()) is None
    park = Commit(instance_id, 1, state=State.SUSPENDED, waits=(wait("other"), wait("paid", step_id=2)))
    before = await history(journal, instance_id)
    assert await refused(journal, park) is Refusal.SIGNAL_ARRIVED
    assert await history(journal, instance_id) == before
    assert [d.delivery_id for d in before.inbox] == ["d-1"]


@check
async def a_delivery_that_the_park_takes_does_not_refuse_it(journal: Journal) -> None:
    instance_id = await started(journal)
    await journal.deliver(instance_id, delivery())
    park = Commit(
        instance_id, 1, rows=(row(),), taken_deliveries=("d-1",), state=State.SUSPENDED, waits=(wait(step_id=2),)
    )
    await done(journal, park)
    assert (await history(journal, instance_id)).inbox == ()


@check
async def a_second_delivery_refuses_a_park_that_takes_only_the_first(journal: Journal) -> None:
    instance_id = await started(journal)
    await journal.deliver(instance_id, delivery("d-1"))
    await journal.deliver(instance_id, delivery("d-2"))
    park = Commit(instance_id, 1, taken_deliveries=("d-1",), state=State.SUSPENDED, waits=(wait(),))
    assert await refused(journal, park) is Refusal.SIGNAL_ARRIVED
    assert len((await history(journal, instance_id)).inbox) == 2


@check
async def a_delivery_for_another_signal_does_not_refuse_the_park(journal: Journal) -> None:
    instance_id = await started(journal)
    await journal.deliver(instance_id, delivery(signal_id="shipped"))
    await done(journal, Commit(instance_id, 1, state=State.SUSPENDED, waits=(wait("paid"), wait(None, step_id=2))))
    assert len((await history(journal, instance_id)).inbox) == 1


@check
async def a_delivery_to_a_parked_instance_makes_it_claimable_by_the_sweep(journal: Journal) -> None:
    one = await parked(journal, wait("paid"))
    several = await parked(journal, wait("other", step_id=1), wait("paid", step_id=2, at=NOON + SECOND))
    assert await due(journal, NOON - SECOND) == []
    for instance_id in (one, several):
        await journal.deliver(instance_id, delivery())
    assert set(await due(journal, NOON - SECOND)) == {one, several}


@check
async def a_delivery_nobody_waits_for_wakes_nobody(journal: Journal) -> None:
    instance_id = await parked(journal, wait("paid"))
    await journal.deliver(instance_id, delivery(signal_id="shipped"))
    assert await due(journal, NOON - SECOND) == []
    assert len((await history(journal, instance_id)).inbox) == 1


@check
async def a_taken_signal_wakes_no_second_time(journal: Journal) -> None:
    instance_id = await parked(journal, wait("paid"))
    await journal.deliver(instance_id, delivery())
    await claimed(journal, instance_id)
    park = Commit(
        instance_id,
        2,
        rows=(row(1),),
        taken_deliveries=("d-1",),
        state=State.SUSPENDED,
        waits=(wait("paid", step_id=2),),
        release_lease=True,
    )
    await done(journal, park)
    assert await due(journal, NOON - SECOND) == []


@check
async def a_delivery_and_a_park_at_the_same_time_always_meet(journal: Journal) -> None:
    instances = [await started(journal) for _ in range(20)]

    async def park(instance_id: UUID) -> Committed | Refused:
        waits = (wait("paid"),)
        return await journal.commit(Commit(instance_id, 1, state=State.SUSPENDED, waits=waits, release_lease=True))

    async def both(instance_id: UUID, *, park_first: bool) -> Committed | Refused:
        calls = [park(instance_id), journal.deliver(instance_id, delivery())]
        answers = await asyncio.gather(*(calls if park_first else reversed(calls)))
        answer = answers[0 if park_first else 1]
        assert isinstance(answer, Committed | Refused)
        return answer

    answers = await asyncio.gather(*(both(i, park_first=n % 2 == 0) for n, i in enumerate(instances)))
    told = {i for i, a in zip(instances, answers, strict=True) if a == Refused(Refusal.SIGNAL_ARRIVED, "paid")}
    woken = set(await due(journal, NOON - SECOND))
    assert told | woken == set(instances)
    assert not told & woken


@check
async def the_same_delivery_id_is_one_delivery(journal: Journal) -> None:
    instance_id = await parked(journal)
    for _ in range(2):
        assert await journal.deliver(instance_id, delivery()) is None
    assert [d.delivery_id for d in (await history(journal, instance_id)).inbox] == ["d-1"]
    await claimed(journal, instance_id)
    await done(journal, Commit(instance_id, 2, rows=(row(),), taken_deliveries=("d-1",), state=State.RUNNING))
    assert await journal.deliver(instance_id, delivery()) is None
    assert (await history(journal, instance_id)).inbox == ()
    await done(journal, Commit(instance_id, 2, state=State.COMPLETED, release_lease=True))
    assert await journal.deliver(instance_id, delivery()) is None


@check
async def a_delivery_is_taken_once(journal: Journal) -> None:
    instance_id = await started(journal)
    await journal.deliver(instance_id, delivery())
    await done(journal, Commit(instance_id, 1, rows=(row(1),), taken_deliveries=("d-1",)))
    for taken in (("d-1",), ("never-sent",)):
        again = Commit(instance_id, 1, rows=(row(2),), taken_deliveries=taken)
        assert await refused(journal, again) is Refusal.DUPLICATE_STEP
    assert len((await history(journal, instance_id)).rows) == 1


@check
async def deliveries_keep_the_order_they_came_in(journal: Journal) -> None:
    instance_id = await parked(journal)
    for name in ("z", "a", "m"):
        await journal.deliver(instance_id, delivery(name, name))
    inbox = (await history(journal, instance_id)).inbox
    assert [(d.delivery_id, d.received_sequence, d.payload) for d in inbox] == [
        (name, n, delivery().payload) for n, name in enumerate(("z", "a", "m"), 1)
    ]


@check
async def concurrent_senders_lose_nothing(journal: Journal) -> None:
    instance_id = await parked(journal)
    await asyncio.gather(*(journal.deliver(instance_id, delivery(f"d-{n % 10}")) for n in range(30)))
    inbox = (await history(journal, instance_id)).inbox
    assert {d.delivery_id for d in inbox} == {f"d-{n}" for n in range(10)}
    assert [d.received_sequence for d in inbox] == list(range(1, 11))


@check
async def only_due_instances_are_claimed_longest_due_first(journal: Journal) -> None:
    late, later, future = [await parked(journal, wait(at=NOON + n * SECOND)) for n in (1, 0, 2)]
    await started(journal, ttl=OVER)
    await ended(journal)
    assert await due(journal, NOON + SECOND) == [later, late]
    assert await due(journal, NOON + SECOND) == []
    assert await due(journal, NOON + LONG) == [future]


@check
async def a_page_of_due_instances_has_its_limit(journal: Journal) -> None:
    instances = [await parked(journal, wait(at=NOON + n * SECOND)) for n in range(5)]
    pages = [await due(journal, NOON + LONG, limit=2) for _ in range(4)]
    assert pages == [instances[:2], instances[2:4], instances[4:], []]


@check
async def a_due_instance_that_someone_holds_is_not_claimed(journal: Journal) -> None:
    instance_id = await parked(journal)
    await claimed(journal, instance_id)
    assert await due(journal, NOON) == []
    await journal.release(instance_id, fencing_token=2)
    assert await due(journal, NOON) == [instance_id]


@check
async def a_due_instance_whose_owner_died_is_claimed_again(journal: Journal) -> None:
    instance_id = await parked(journal)
    first = await journal.claim_due(now=NOON, owner="a", ttl=OVER, limit=1)
    second = await journal.claim_due(now=NOON, owner="b", ttl=LONG, limit=1)
    assert [c.lease.fencing_token for c in (*first, *second)] == [2, 3]
    assert second[0].history.instance.fence == 3
    assert second[0].history == await history(journal, instance_id)


@check
async def concurrent_sweeps_never_share_an_instance(journal: Journal) -> None:
    waiting = {await parked(journal) for _ in range(15)}
    dropped = {await started(journal, ttl=OVER) for _ in range(15)}
    given: list[UUID] = []
    while len(given) < 30:
        pages = await asyncio.gather(
            *(due(journal, NOON, limit=4) for _ in range(4)), *(abandoned(journal, limit=4) for _ in range(4))
        )
        found = [instance_id for page in pages for instance_id in page]
        assert found, "a sweep found nothing while there was work left"
        given += found
    assert len(given) == len(set(given))
    assert set(given) == waiting | dropped


@check
async def a_sweep_leaves_plans_that_it_cannot_run(journal: Journal) -> None:
    waiting = await parked(journal, flow_version="2.0")
    dropped = await started(journal, ttl=OVER, flow_version="2.0")
    for plans in ([], [("shop.order", "1.0"), ("other", "2.0")]):
        assert await due(journal, NOON, plans=plans) == []
        assert await abandoned(journal, plans=plans) == []
    assert await due(journal, NOON, plans=[("x", "1"), ("shop.order", "2.0")]) == [waiting]
    assert await abandoned(journal, plans=[("shop.order", "2.0")]) == [dropped]


@check
async def a_suspended_or_ended_instance_is_not_abandoned(journal: Journal) -> None:
    await parked(journal)
    await ended(journal)
    instance_id = await parked(journal)
    await claimed(journal, instance_id, ttl=OVER)
    assert await abandoned(journal) == []


@check
async def unfinished_work_without_a_live_lease_is_abandoned(journal: Journal) -> None:
    dropped = await started(journal, ttl=OVER)
    released = await started(journal)
    await journal.release(released, fencing_token=1)
    unwinding = await started(journal)
    await done(journal, Commit(unwinding, 1, state=State.COMPENSATING, release_lease=True))
    await started(journal)
    claims = await journal.claim_abandoned(owner="b", ttl=LONG, limit=10)
    assert {claim.lease.instance_id for claim in claims} == {dropped, released, unwinding}
    for claim in claims:
        assert claim.lease.fencing_token == claim.history.instance.fence == 2
        assert claim.history == await history(journal, claim.lease.instance_id)
    assert await abandoned(journal) == []


@check
async def an_ending_child_wakes_its_parent_in_the_same_commit(journal: Journal) -> None:
    parent = await parked(journal, wait("child"))
    child = await started(journal, parent_instance_id=parent)
    notice = delivery("from-child", "child")
    stale = Commit(child, 0, state=State.COMPLETED, parent_delivery=notice)
    assert await refused(journal, stale) is Refusal.FENCED_OUT
    assert await due(journal, NOON - SECOND) == []
    await done(journal, Commit(child, 1, state=State.COMPLETED, release_lease=True, parent_delivery=notice))
    assert [d.delivery_id for d in (await history(journal, parent)).inbox] == ["from-child"]
    assert await due(journal, NOON - SECOND) == [parent]


@check
async def a_child_of_an_ended_or_unknown_parent_ends_all_the_same(journal: Journal) -> None:
    for parent in (await ended(journal), uuid4(), None):
        child = await started(journal, parent_instance_id=parent)
        await done(journal, Commit(child, 1, state=State.COMPLETED, parent_delivery=delivery("c", "child")))
        assert (await history(journal, child)).instance.state is State.COMPLETED


# Cancelling


@check
async def a_request_to_cancel_is_met_by_the_next_commit_and_every_history(journal: Journal) -> None:
    instance_id = await started(journal)
    assert (await done(journal, Commit(instance_id, 1, rows=(row(),)))).cancel_reason is None
    assert await journal.request_cancel(instance_id, "customer left") is None
    assert await journal.request_cancel(instance_id, "another reason") is None
    answer = await done(journal, Commit(instance_id, 1, rows=(row(1),)))
    assert (answer.last_sequence, answer.cancel_reason) == (2, "customer left")
    kept = await history(journal, instance_id)
    assert (kept.instance.cancel_reason, len(kept.rows)) == ("customer left", 2)


@check
async def a_parked_instance_that_is_to_be_cancelled_is_given_out_however_it_came_to_park(journal: Journal) -> None:
    asked_parked = await parked(journal)
    assert await journal.request_cancel(asked_parked, "r") is None
    asked_running = await started(journal)
    assert await journal.request_cancel(asked_running, "r") is None
    await done(journal, Commit(asked_running, 1, state=State.SUSPENDED, waits=(wait(),), release_lease=True))
    several = await started(journal)
    assert await journal.request_cancel(several, "r") is None
    waits = (wait(), wait("other", step_id=2))
    await done(journal, Commit(several, 1, state=State.SUSPENDED, waits=waits, release_lease=True))
    await parked(journal)
    assert set(await due(journal, NOON - SECOND)) == {asked_parked, asked_running, several}


@check
async def a_request_and_a_park_at_the_same_time_always_meet(journal: Journal) -> None:
    for _ in range(20):
        instance_id = await started(journal)
        park = Commit(instance_id, 1, state=State.SUSPENDED, waits=(wait(),), release_lease=True)
        await asyncio.gather(journal.commit(park), journal.request_cancel(instance_id, "r"))
        assert await due(journal, NOON - SECOND) == [instance_id]


@check
async def an_ended_or_unknown_instance_cannot_be_cancelled(journal: Journal) -> None:
    for instance_id, reason in (
        (await ended(journal), Refusal.INSTANCE_TERMINAL),
        (uuid4(), Refusal.UNKNOWN_INSTANCE),
    ):
        answer = await journal.request_cancel(instance_id, "r")
        assert isinstance(answer, Refused)
        assert answer.reason is reason


# Reopening


async def reopen_refused(journal: Journal, instance_id: UUID) -> Refusal:
    answer = await journal.reopen(instance_id, "ada")
    assert isinstance(answer, Refused)
    return answer.reason


@check
async def an_instance_whose_undo_failed_is_reopened_to_go_back_once_more(journal: Journal) -> None:
    instance_id = await started(journal)
    failed = StoredError("late", "unavailable", "too late")
    end = Commit(instance_id, 1, rows=(row(),), state=State.COMPENSATION_FAILED, error=failed, release_lease=True)
    await done(journal, end)
    assert await journal.reopen(instance_id, "ada") is None
    kept = await history(journal, instance_id)
    assert (kept.instance.state, kept.instance.error) == (State.COMPENSATING, failed)
    said = kept.rows[-1]
    assert (said.capability_id, said.scope, said.attempt, said.name, said.sequence) == (
        REOPENED,
        "reopened",
        1,
        "ada",
        2,
    )
    assert said.committed_at is not None
    assert await journal.live_leases(instance_id) == 0
    assert await reopen_refused(journal, instance_id) is Refusal.NOT_NEEDED
    assert (await history(journal, instance_id)).rows == kept.rows


@check
async def who_ended_an_instance_writes_no_more_to_it_when_it_is_reopened(journal: Journal) -> None:
    instance_id = await ended(journal, State.COMPENSATION_FAILED)
    assert await journal.reopen(instance_id, "ada") is None
    assert await refused(journal, Commit(instance_id, 1, rows=(row(5),))) is Refusal.FENCED_OUT
    claim = await claimed(journal, instance_id)
    assert claim.lease.fencing_token > 2
    await done(journal, Commit(instance_id, claim.lease.fencing_token, state=State.COMPENSATION_FAILED))
    assert await journal.reopen(instance_id, "grace") is None
    assert [(each.name, each.attempt) for each in (await history(journal, instance_id)).rows] == [
        ("ada", 1),
        ("grace", 2),
    ]


@check
async def a_reopened_instance_that_nobody_claims_is_given_out_as_abandoned(journal: Journal) -> None:
    instance_id = await ended(journal, State.COMPENSATION_FAILED)
    assert await journal.reopen(instance_id, "ada") is None
    (found,) = await journal.claim_abandoned(owner="b", ttl=LONG, limit=9)
    assert (found.lease.instance_id, found.history.instance.state) == (instance_id, State.COMPENSATING)


@check
async def only_what_ended_with_a_failed_undo_is_reopened(journal: Journal) -> None:
    assert await reopen_refused(journal, uuid4()) is Refusal.UNKNOWN_INSTANCE
    for state in TERMINAL - {State.COMPENSATION_FAILED}:
        assert await reopen_refused(journal, await ended(journal, state)) is Refusal.INSTANCE_TERMINAL
    for open_one in (await started(journal), await parked(journal)):
        before = await history(journal, open_one)
        assert await reopen_refused(journal, open_one) is Refusal.NOT_NEEDED
        assert await history(journal, open_one) == before


# Making an instance parked


@check
async def an_instance_that_is_made_parked_is_as_one_that_was_started_and_parked(journal: Journal) -> None:
    told = {
        "deadline_at": NOON + 9 * SECOND,
        "correlation_id": "c",
        "tenant_id": "t",
        "parent_instance_id": uuid4(),
        "parent_scope": "3",
        "parent_step_id": 4,
    }
    for open_one in (wait("paid"), wait(None, step_id=0)):
        instance = new(parked=open_one, **told)
        answer = await journal.start(instance, owner="a", ttl=LONG)
        assert (answer.lease, answer.is_parked) == (None, True)
        assert answer.history == await journal.read(instance.instance_id)
        other = await parked(journal, open_one, **told)
        same = {"instance_id": other, "created_at": NOON, "updated_at": NOON}
        made, long_way = [await history(journal, each) for each in (instance.instance_id, other)]
        assert replace(made.instance, **same) == replace(long_way.instance, **same)
        assert await journal.live_leases(instance.instance_id) == 0


@check
async def an_instance_that_is_made_parked_goes_on_as_any_other(journal: Journal) -> None:
    by_clock, by_signal = new(parked=wait(None)), new(parked=wait("paid", at=NOON + SECOND))
    for instance in (by_clock, by_signal):
        await journal.start(instance, owner="a", ttl=LONG)
    assert await journal.next_wake() == NOON
    assert await due(journal, NOON - SECOND) == await abandoned(journal) == []
    assert await due(journal, NOON) == [by_clock.instance_id]
    await journal.deliver(by_signal.instance_id, delivery())
    assert await due(journal, NOON) == [by_signal.instance_id]
    stale = Commit(by_signal.instance_id, 1, rows=(row(),))
    assert await refused(journal, stale) is Refusal.FENCED_OUT


@check
async def of_many_who_make_one_instance_parked_one_does(journal: Journal) -> None:
    instances = [new(parked=wait("paid")) for _ in range(4)]
    answers = await asyncio.gather(
        *(journal.start(instances[n % 4], owner=f"n{n}", ttl=LONG) for n in range(32)),
        *(journal.start(new(), owner="a", ttl=LONG) for _ in range(8)),
    )
    assert sum(answer.is_parked for answer in answers) == 4
    assert sum(answer.lease is not None for answer in answers) == 8
    for answer in answers[:32]:
        assert answer.history.instance.waits == (wait("paid"),)


# Claiming what has just been told something

B = Claimant("b", LONG)


@check
async def who_delivers_to_a_parked_instance_may_claim_it_in_the_same_step(journal: Journal) -> None:
    one = await parked(journal, wait("paid"))
    several = await parked(journal, wait("other", step_id=1), wait("paid", step_id=2))
    for instance_id in (one, several):
        given = await journal.deliver(instance_id, delivery(), claim_for=B)
        assert isinstance(given, Claimed)
        assert (given.lease.owner, given.lease.fencing_token, given.history.instance.fence) == ("b", 2, 2)
        assert [d.delivery_id for d in given.history.inbox] == ["d-1"]
        assert given.history == await journal.read(instance_id)
        assert await journal.live_leases(instance_id) == 1
    assert await due(journal, NOON - SECOND) == []


@check
async def a_delivery_that_meets_no_wait_claims_nothing(journal: Journal) -> None:
    instance_id = await parked(journal, wait("paid"))
    before = await history(journal, instance_id)
    assert await journal.deliver(instance_id, delivery(signal_id="shipped"), claim_for=B) is None
    assert await journal.live_leases(instance_id) == 0
    assert (await history(journal, instance_id)).instance.fence == before.instance.fence


@check
async def a_delivery_to_what_somebody_works_on_claims_nothing(journal: Journal) -> None:
    instance_id = await started(journal, owner="b")
    assert await journal.deliver(instance_id, delivery(), claim_for=B) is None
    assert (await history(journal, instance_id)).instance.fence == 1
    park = Commit(instance_id, 1, state=State.SUSPENDED, waits=(wait("paid"),))
    assert await refused(journal, park) is Refusal.SIGNAL_ARRIVED


@check
async def a_delivery_that_comes_again_claims_only_what_has_not_gone_on(journal: Journal) -> None:
    instance_id = await parked(journal, wait("paid"))
    assert await journal.deliver(instance_id, delivery()) is None
    given = await journal.deliver(instance_id, delivery(), claim_for=B)
    assert isinstance(given, Claimed)
    assert len(given.history.inbox) == 1
    token = given.lease.fencing_token
    park = Commit(
        instance_id,
        token,
        rows=(row(),),
        taken_deliveries=("d-1",),
        state=State.SUSPENDED,
        waits=(wait("paid", step_id=2),),
        release_lease=True,
    )
    await done(journal, park)
    assert await journal.deliver(instance_id, delivery(), claim_for=B) is None
    assert await journal.live_leases(instance_id) == 0


@check
async def what_has_ended_is_told_nothing_and_claimed_by_nobody(journal: Journal) -> None:
    for instance_id, reason in (
        (await ended(journal), Refusal.INSTANCE_TERMINAL),
        (uuid4(), Refusal.UNKNOWN_INSTANCE),
    ):
        for answer in (
            await journal.deliver(instance_id, delivery(), claim_for=B),
            await journal.request_cancel(instance_id, "r", claim_for=B),
            await journal.reopen(instance_id, "ada", claim_for=B),
        ):
            assert isinstance(answer, Refused)
            assert answer.reason is reason


@check
async def who_asks_to_cancel_may_claim_what_nobody_works_on(journal: Journal) -> None:
    waiting, left = await parked(journal), await started(journal, ttl=OVER)
    for instance_id in (waiting, left):
        given = await journal.request_cancel(instance_id, "customer left", claim_for=B)
        assert isinstance(given, Claimed)
        assert (given.lease.owner, given.history.instance.cancel_reason) == ("b", "customer left")
    at_work = await started(journal)
    assert await journal.request_cancel(at_work, "customer left", claim_for=B) is None
    assert (await done(journal, Commit(at_work, 1, rows=(row(),)))).cancel_reason == "customer left"


@check
async def who_reopens_an_instance_may_claim_it_in_the_same_step(journal: Journal) -> None:
    instance_id = await ended(journal, State.COMPENSATION_FAILED)
    given = await journal.reopen(instance_id, "ada", claim_for=B)
    assert isinstance(given, Claimed)
    assert (given.lease.owner, given.history.instance.state) == ("b", State.COMPENSATING)
    assert [each.name for each in given.history.rows] == ["ada"]
    assert await abandoned(journal) == []


@check
async def of_many_who_deliver_at_once_one_claims(journal: Journal) -> None:
    instance_id = await parked(journal, wait("paid"))
    claimants = [Claimant(f"n{n}", LONG) for n in range(8)]
    answers = await asyncio.gather(
        *(journal.deliver(instance_id, delivery(f"d-{n}"), claim_for=each) for n, each in enumerate(claimants))
    )
    assert sum(isinstance(answer, Claimed) for answer in answers) == 1
    assert answers.count(None) == len(claimants) - 1


@check
async def no_sweep_comes_between_a_delivery_and_its_claim(journal: Journal) -> None:
    instances = [await parked(journal, wait("paid")) for _ in range(20)]

    async def sweep() -> list[UUID]:
        return [instance_id for _ in range(10) for instance_id in await due(journal, NOON - SECOND)]

    *answers, swept = await asyncio.gather(
        *(journal.deliver(instance_id, delivery(), claim_for=B) for instance_id in instances), sweep()
    )
    assert swept == []
    assert all(isinstance(answer, Claimed) for answer in answers)


# Retention


@check
async def pruning_removes_ended_instances_with_all_that_belongs_to_them(journal: Journal) -> None:
    gone = [await ended(journal) for _ in range(5)]
    failed = await ended(journal, State.FAILED)
    kept_open = [await started(journal), await parked(journal)]
    later = await journal.now() + LONG
    assert await journal.prune(older_than=await journal.now() - LONG) == Pruned()
    assert (await journal.prune(older_than=later, states={State.COMPLETED}, batch=2)).instances == 5
    for instance_id in gone:
        assert await journal.read(instance_id) is None
    assert await journal.read(failed) is not None
    assert (await journal.prune(older_than=later, states=set(State))).instances == 1
    for instance_id in kept_open:
        assert await journal.read(instance_id) is not None


@check
async def pruning_counts_what_it_removes(journal: Journal) -> None:
    instance_id = await started(journal)
    assert await journal.deliver(instance_id, delivery()) is None
    await done(journal, Commit(instance_id, 1, rows=(row(), row(1)), taken_deliveries=("d-1",)))
    await done(journal, Commit(instance_id, 1, state=State.COMPLETED))
    pruned = await journal.prune(older_than=await journal.now() + LONG)
    assert pruned == Pruned(instances=1, steps=2, events=0, deliveries=1)


@check
async def an_event_that_is_not_published_keeps_its_instance(journal: Journal) -> None:
    instance_id = await started(journal)
    events = (event(), event())
    await done(journal, Commit(instance_id, 1, events=events, state=State.COMPLETED))
    later = await journal.now() + LONG
    await journal.mark_published(instance_id, [events[0].event_id])
    assert await journal.prune(older_than=later) == Pruned()
    assert len(await journal.events(instance_id)) == 2
    await journal.mark_published(instance_id, [event.event_id for event in events])
    await journal.mark_published(instance_id, [events[0].event_id])
    assert await journal.prune(older_than=later) == Pruned(instances=1, events=2)
    assert await journal.events(instance_id) == [] or await journal.events(instance_id) == ()


@check
async def a_child_is_kept_for_as_long_as_its_parent_is_open(journal: Journal) -> None:
    parent = await started(journal)
    child = await ended(journal, parent_instance_id=parent)
    later = await journal.now() + LONG
    assert await journal.prune(older_than=later) == Pruned()
    await done(journal, Commit(parent, 1, state=State.FAILED))
    assert (await journal.prune(older_than=later)).instances == 2
    assert await journal.read(child) is None


# Looking


@check
async def the_earliest_wake_of_all_is_known(journal: Journal) -> None:
    assert await journal.next_wake() is None
    await started(journal)
    await parked(journal, wait(at=NOON + SECOND))
    first = await parked(journal, wait(at=NOON))
    assert await journal.next_wake() == NOON
    await claimed(journal, first)
    await done(journal, Commit(first, 2, state=State.COMPLETED, release_lease=True))
    assert await journal.next_wake() == NOON + SECOND


@check
async def a_listing_is_newest_first_filtered_and_limited(journal: Journal) -> None:
    first = await started(journal)
    second = await parked(journal)
    other = await started(journal, flow_id="shop.refund")
    third = await ended(journal)

    async def found(**terms: object) -> list[UUID]:
        return [kept.instance_id for kept in await journal.find(Filter(**terms))]  # type: ignore[arg-type]

    assert set(await found()) == {first, second, other, third}
    assert await found(flow_id="shop.refund") == [other]
    assert set(await found(flow_version="1.0")) == {first, second, other, third}
    assert await found(flow_version="1.0.1") == []
    assert set(await found(states=frozenset({State.RUNNING, State.SUSPENDED}))) == {first, second, other}
    assert await found(flow_id="shop.order", states=frozenset({State.SUSPENDED})) == [second]
    assert len(await found(limit=2)) == 2
    child = await started(journal, parent_instance_id=first, parent_step_id=1)
    assert await found(parent=first) == [child]
    assert await found(parent=child) == []
    moments = [kept.created_at for kept in await journal.find(Filter())]
    assert moments == sorted(moments, reverse=True)
    (kept,) = await journal.find(Filter(states=frozenset({State.SUSPENDED})))
    assert kept == (await history(journal, second)).instance


@check
async def every_moment_is_aware_and_in_utc(journal: Journal) -> None:
    local = datetime.fromisoformat("2031-05-06T14:00:00+02:00")
    instance_id = await parked(journal, wait(at=local), deadline_at=local)
    kept = (await history(journal, instance_id)).instance
    assert kept.deadline_at == kept.waits[0].wake_at == local.astimezone(UTC)
    for moment in (kept.created_at, kept.updated_at, await journal.now()):
        assert moment.utcoffset() == timedelta(0)


@check
async def closing_twice_is_harmless(journal: Journal) -> None:
    await journal.close()
    await journal.close()
