"""What every journal must do with the events that wait to be published. See `journal_checks`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

from journal_checks import check
from journal_scene import LONG, OVER, done, ended, event, history, started

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.outbox import ClaimedEvent, EventClaim, FailedTry, Settlement
from flowx_runtime.journal.records import Commit, Pruned, StagedEvent, State

AT_ONCE = timedelta(0)


async def staged(journal: Journal, count: int = 1, **changes: object) -> tuple[UUID, list[StagedEvent]]:
    instance_id = await started(journal, **changes)
    events = [event(f"order.{n}") for n in range(count)]
    if events:
        await done(journal, Commit(instance_id, 1, events=tuple(events)))
    return instance_id, events


async def claim(
    journal: Journal, *, ttl: timedelta = LONG, limit: int = 100, per_instance: int = 64, owner: str = "p"
) -> EventClaim:
    return await journal.claim_events(owner=owner, ttl=ttl, limit=limit, per_instance=per_instance)


def types(given: EventClaim, instance_id: UUID | None = None) -> list[str]:
    return [each.event.type for each in given.events if instance_id in (None, each.instance_id)]


async def publish(journal: Journal, given: EventClaim, *events: ClaimedEvent) -> None:
    published = tuple((each.instance_id, each.event.event_id) for each in events or given.events)
    await journal.settle_events(Settlement(published=published))


async def release(journal: Journal, given: EventClaim) -> None:
    instances = dict.fromkeys(each.instance_id for each in given.events)
    await journal.settle_events(Settlement(released=tuple((each, given.claim_id) for each in instances)))


async def fail(
    journal: Journal,
    given: EventClaim,
    *,
    retry_in: timedelta = LONG,
    is_refusal: bool = True,
    is_poison: bool = False,
    error: str = "no",
) -> None:
    first = given.events[0]
    failed = FailedTry(given.claim_id, first.instance_id, first.event.event_id, error, retry_in, is_refusal, is_poison)
    await journal.settle_events(Settlement(failed=(failed,)))


async def poison(journal: Journal) -> None:
    """Set the first event that is due aside."""
    given = await claim(journal)
    await fail(journal, given, is_poison=True, error="refused for good")
    await release(journal, given)


@check
async def an_event_is_handed_out_with_all_that_an_envelope_needs(journal: Journal) -> None:
    instance_id, (first, second) = await staged(journal, 2, correlation_id="c-1", flow_id="shop.order")
    before = await journal.now()
    given = await claim(journal)
    assert [(each.instance_id, each.event) for each in given.events] == [(instance_id, first), (instance_id, second)]
    assert {(each.flow_id, each.correlation_id) for each in given.events} == {("shop.order", "c-1")}
    assert {(each.attempts, each.refusals) for each in given.events} == {(0, 0)}
    assert given.events[0].sequence < given.events[1].sequence
    assert all(each.occurred_at <= before <= given.claimed_at for each in given.events)


@check
async def an_empty_outbox_gives_an_empty_claim(journal: Journal) -> None:
    await started(journal)
    assert (await claim(journal)).events == ()


@check
async def events_are_handed_out_in_the_order_of_staging_across_commits(journal: Journal) -> None:
    instance_id = await started(journal)
    for n in range(12):
        await done(journal, Commit(instance_id, 1, events=(event(f"order.{2 * n}"), event(f"order.{2 * n + 1}"))))
    given = await claim(journal)
    assert types(given) == [f"order.{n}" for n in range(24)]
    sequences = [each.sequence for each in given.events]
    assert sequences == sorted(set(sequences))


@check
async def an_instance_is_given_to_one_claim_at_a_time(journal: Journal) -> None:
    mine, _ = await staged(journal, 2)
    first = await claim(journal)
    await done(journal, Commit(mine, 1, events=(event("order.late"),)))
    other, _ = await staged(journal)
    assert {each.instance_id for each in (await claim(journal)).events} == {other}
    await publish(journal, first)
    assert (await claim(journal)).events == ()
    await release(journal, first)
    assert types(await claim(journal)) == ["order.late"]


@check
async def concurrent_claims_share_the_instances(journal: Journal) -> None:
    for _ in range(20):
        await staged(journal, 3)
    given: list[UUID] = []
    while len(given) < 20:
        claims = await asyncio.gather(*(claim(journal, limit=9, owner=f"p{n}") for n in range(5)))
        found = [instance for each in claims for instance in {event.instance_id for event in each.events}]
        assert found, "a claim found nothing while there was work left"
        given += found
        for each in claims:
            await publish(journal, each)
    assert len(given) == len(set(given))


@check
async def a_lapsed_claim_is_no_claim_and_its_failures_do_not_count(journal: Journal) -> None:
    await staged(journal)
    lapsed = await claim(journal, ttl=OVER)
    taken_over = await claim(journal)
    assert types(taken_over) == types(lapsed)
    await fail(journal, lapsed, is_poison=True)
    await release(journal, lapsed)
    assert (await claim(journal)).events == ()
    await release(journal, taken_over)
    assert [(again.attempts, again.refusals) for again in (await claim(journal)).events] == [(0, 0)]


@check
async def what_was_published_is_published_also_when_the_claim_has_lapsed(journal: Journal) -> None:
    await staged(journal)
    lapsed = await claim(journal, ttl=OVER)
    taken_over = await claim(journal)
    await publish(journal, lapsed)
    await fail(journal, taken_over, is_poison=True)
    await release(journal, taken_over)
    assert (await claim(journal)).events == ()
    assert list(await journal.poisoned_events()) == []


@check
async def an_event_that_failed_waits_and_those_behind_it_wait_too(journal: Journal) -> None:
    waiting, _ = await staged(journal, 3)
    given = await claim(journal)
    await fail(journal, given, retry_in=LONG)
    await release(journal, given)
    other, _ = await staged(journal)
    await done(journal, Commit(waiting, 1, events=(event("order.late"),)))
    given = await claim(journal)
    assert {each.instance_id for each in given.events} == {other}


@check
async def tries_are_counted_and_an_event_is_tried_again_when_it_is_due(journal: Journal) -> None:
    await staged(journal, 2)
    for attempts, is_refusal in enumerate((True, False, True)):
        given = await claim(journal)
        assert (given.events[0].attempts, types(given)) == (attempts, ["order.0", "order.1"])
        await fail(journal, given, retry_in=AT_ONCE, is_refusal=is_refusal, error="nul \x00 and \udc00")
        await release(journal, given)
    (first, second) = (await claim(journal)).events
    assert (first.attempts, first.refusals) == (3, 2)
    assert (second.attempts, second.refusals) == (0, 0)


@check
async def a_poisoned_event_is_found_and_the_later_ones_go_on(journal: Journal) -> None:
    instance_id, (bad, _) = await staged(journal, 2)
    other, _ = await staged(journal)
    before = await journal.now()
    await poison(journal)
    (found,) = await journal.poisoned_events()
    assert (found.instance_id, found.event, found.attempts, found.last_error) == (
        instance_id,
        bad,
        1,
        "refused for good",
    )
    assert found.occurred_at <= before <= found.set_aside_at
    assert list(await journal.poisoned_events(instance_id=other)) == []
    assert list(await journal.poisoned_events(instance_id=instance_id)) == [found]
    assert types(await claim(journal), instance_id) == ["order.1"]


@check
async def poisoned_events_are_listed_longest_first_up_to_a_limit(journal: Journal) -> None:
    instances = [(await staged(journal))[0] for _ in range(3)]
    for _ in instances:
        await poison(journal)
    listed = [each.instance_id for each in await journal.poisoned_events(limit=2)]
    assert len(listed) == 2
    assert listed == [each.instance_id for each in await journal.poisoned_events()][:2]
    assert set(listed) < set(instances)


@check
async def a_poisoned_event_that_is_retried_starts_afresh_before_the_later_ones(journal: Journal) -> None:
    instance_id, (bad, _) = await staged(journal, 2)
    await poison(journal)
    assert await journal.retry_poisoned(instance_id, [uuid4()]) == 0
    assert await journal.retry_poisoned(uuid4(), [bad.event_id]) == 0
    assert await journal.retry_poisoned(instance_id, [bad.event_id]) == 1
    assert await journal.retry_poisoned(instance_id, [bad.event_id]) == 0
    assert list(await journal.poisoned_events()) == []
    given = await claim(journal)
    assert types(given) == ["order.0", "order.1"]
    assert (given.events[0].attempts, given.events[0].refusals) == (0, 0)


@check
async def a_poisoned_event_that_is_dropped_is_gone_from_the_list_but_not_from_the_history(journal: Journal) -> None:
    instance_id, (bad,) = await staged(journal)
    await poison(journal)
    assert await journal.drop_poisoned(instance_id, [bad.event_id]) == 1
    assert await journal.drop_poisoned(instance_id, [bad.event_id]) == 0
    assert await journal.retry_poisoned(instance_id, [bad.event_id]) == 0
    assert list(await journal.poisoned_events()) == []
    assert (await claim(journal)).events == ()
    assert tuple(await journal.events(instance_id)) == (bad,)


@check
async def only_what_was_set_aside_can_be_dropped(journal: Journal) -> None:
    instance_id, (good,) = await staged(journal)
    assert await journal.drop_poisoned(instance_id, [good.event_id]) == 0
    assert types(await claim(journal)) == ["order.0"]


@check
async def a_claim_gives_whole_instances_up_to_about_its_limit(journal: Journal) -> None:
    for _ in range(4):
        await staged(journal, 3)
    given = await claim(journal, limit=4)
    assert len(given.events) == 6
    rest = await claim(journal)
    assert len(rest.events) == 6
    assert not {each.instance_id for each in given.events} & {each.instance_id for each in rest.events}


@check
async def an_instance_with_many_events_does_not_fill_a_claim(journal: Journal) -> None:
    many, _ = await staged(journal, 30)
    few, _ = await staged(journal, 1)
    given = await claim(journal, limit=20, per_instance=10)
    assert types(given, many) == [f"order.{n}" for n in range(10)]
    assert types(given, few) == ["order.0"]
    await publish(journal, given)
    await release(journal, given)
    assert types(await claim(journal, per_instance=64), many) == [f"order.{n}" for n in range(10, 30)]


@check
async def settling_twice_changes_nothing(journal: Journal) -> None:
    await staged(journal, 2)
    given = await claim(journal)
    for _ in range(2):
        await publish(journal, given)
        await release(journal, given)
    assert (await claim(journal)).events == ()


@check
async def a_failed_try_of_a_published_event_is_ignored(journal: Journal) -> None:
    await staged(journal)
    given = await claim(journal)
    await publish(journal, given)
    await fail(journal, given, is_poison=True)
    await release(journal, given)
    assert list(await journal.poisoned_events()) == []


@check
async def an_event_stays_with_its_instance_until_it_is_published_or_dropped(journal: Journal) -> None:
    instance_id, (bad,) = await staged(journal)
    later = await journal.now() + LONG
    await done(journal, Commit(instance_id, 1, state=State.COMPLETED))
    held = await claim(journal)
    assert await journal.prune(older_than=later) == Pruned()
    await fail(journal, held, is_poison=True)
    await release(journal, held)
    assert await journal.prune(older_than=later) == Pruned()
    assert (await history(journal, instance_id)).instance.state is State.COMPLETED
    await journal.drop_poisoned(instance_id, [bad.event_id])
    assert await journal.prune(older_than=later) == Pruned(instances=1, events=1)


@check
async def an_ended_instance_still_hands_out_its_events(journal: Journal) -> None:
    instance_id = await started(journal)
    await done(journal, Commit(instance_id, 1, events=(event("order.done"),), state=State.COMPLETED))
    assert types(await claim(journal)) == ["order.done"]


@check
async def a_refused_commit_hands_out_nothing_p32(journal: Journal) -> None:
    instance_id = await ended(journal)
    await journal.commit(Commit(instance_id, 1, events=(event(),)))
    fenced = await started(journal)
    await journal.commit(replace(Commit(fenced, 1, events=(event(),)), fencing_token=0))
    assert (await claim(journal)).events == ()
