"""What every journal must do for pauses: one check per sentence, as in `journal_checks`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from journal_checks import check
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
    history,
    new,
    parked,
    row,
    started,
)

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.pauses import EVERY_FLOW
from flowx_runtime.journal.records import Claimant, Commit, Refusal, State

LATER = NOON + timedelta(days=1)
ALL_PLANS = [("shop.order", "1.0"), ("shop.refund", "1.0")]


@check
async def a_pause_is_kept_with_its_reason_until_it_is_taken_back(journal: Journal) -> None:
    assert list(await journal.pauses()) == []
    assert await journal.pause("shop.order", "the till is down: \N{SNOWMAN}")
    assert not await journal.pause("shop.order", "another reason")
    assert await journal.pause(EVERY_FLOW)
    everything, order = await journal.pauses()
    assert (everything.target, everything.reason) == (EVERY_FLOW, "")
    assert (order.target, order.reason) == ("shop.order", "the till is down: \N{SNOWMAN}")
    assert isinstance(order.paused_at, datetime)
    assert order.paused_at.utcoffset() == timedelta(0)
    assert await journal.unpause(EVERY_FLOW)
    assert not await journal.unpause(EVERY_FLOW)
    assert [pause.target for pause in await journal.pauses()] == ["shop.order"]


@check
async def what_is_due_of_a_paused_flow_is_given_out_when_the_pause_is_over(journal: Journal) -> None:
    held = await parked(journal)
    other = await parked(journal, flow_id="shop.refund")
    await journal.pause("shop.order")
    assert await due(journal, LATER, plans=ALL_PLANS) == [other]
    assert await due(journal, LATER) == []
    await journal.unpause("shop.order")
    assert await due(journal, LATER) == [held]


@check
async def a_signal_for_a_paused_flow_is_kept_and_given_out_when_the_pause_is_over(journal: Journal) -> None:
    held = await parked(journal)
    await journal.pause("shop.order")
    assert await journal.deliver(held, delivery()) is None
    assert await due(journal, NOON - timedelta(days=1)) == []
    assert await claim_refused(journal, held) is Refusal.PAUSED
    await journal.unpause("shop.order")
    assert await due(journal, NOON - timedelta(days=1)) == [held]
    assert [each.delivery_id for each in (await history(journal, held)).inbox] == ["d-1"]


@check
async def what_is_paused_is_claimed_by_nobody_who_tells_it_something(journal: Journal) -> None:
    held, failed = await parked(journal), await ended(journal, State.COMPENSATION_FAILED)
    await journal.pause("shop.order")
    b = Claimant("b", LONG)
    assert await journal.deliver(held, delivery(), claim_for=b) is None
    assert await journal.request_cancel(held, "r", claim_for=b) is None
    assert await journal.reopen(failed, "ada", claim_for=b) is None
    await journal.unpause("shop.order")
    assert [*await due(journal, NOON - timedelta(days=1)), *await abandoned(journal)] == [held, failed]


@check
async def what_is_abandoned_of_a_paused_flow_is_given_out_when_the_pause_is_over(journal: Journal) -> None:
    held = await started(journal, ttl=OVER)
    other = await started(journal, ttl=OVER, flow_id="shop.refund")
    await journal.pause("shop.order")
    assert await abandoned(journal, plans=ALL_PLANS) == [other]
    await journal.unpause("shop.order")
    assert await abandoned(journal) == [held]


@check
async def one_instance_is_paused_without_the_others_of_its_flow(journal: Journal) -> None:
    held, other = await parked(journal), await parked(journal)
    left, found = await started(journal, ttl=OVER), await started(journal, ttl=OVER)
    await journal.pause(str(held))
    await journal.pause(str(left))
    assert await due(journal, LATER) == [other]
    assert await abandoned(journal) == [found]
    assert await claim_refused(journal, held) is Refusal.PAUSED


@check
async def while_everything_is_paused_nothing_is_given_out(journal: Journal) -> None:
    waiting = await parked(journal)
    left = await started(journal, ttl=OVER)
    await journal.pause(EVERY_FLOW)
    assert await due(journal, LATER) == []
    assert await abandoned(journal) == []
    assert await claim_refused(journal, waiting) is Refusal.PAUSED
    await journal.unpause(EVERY_FLOW)
    assert [*await due(journal, LATER), *await abandoned(journal)] == [waiting, left]


@check
async def a_start_is_accepted_while_its_flow_is_paused_and_says_so(journal: Journal) -> None:
    await journal.pause("shop.order")
    answer = await journal.start(new(), owner="a", ttl=LONG)
    assert answer.lease is not None
    assert answer.is_paused
    other = await journal.start(new(flow_id="shop.refund"), owner="a", ttl=LONG)
    assert not other.is_paused
    await journal.pause(EVERY_FLOW)
    assert (await journal.start(new(flow_id="shop.refund"), owner="a", ttl=LONG)).is_paused
    await journal.release(answer.history.instance.instance_id, fencing_token=1)
    for target in ("shop.order", EVERY_FLOW):
        await journal.unpause(target)
    assert await abandoned(journal) == [answer.history.instance.instance_id]
    assert not (await journal.start(new(), owner="a", ttl=LONG)).is_paused


@check
async def what_is_under_way_when_its_flow_is_paused_goes_on_to_its_next_park(journal: Journal) -> None:
    running = await started(journal)
    await journal.pause("shop.order")
    await done(journal, Commit(running, 1, rows=(row(),)))
    assert await journal.renew([running], owner="a", ttl=LONG) == {running}
    parking = Commit(running, 1, rows=(replace(row(), step_id=1),), state=State.COMPLETED, output="{}")
    await done(journal, parking)


@check
async def an_ended_instance_of_a_paused_flow_is_refused_as_ended(journal: Journal) -> None:
    over, open_one = await ended(journal), await started(journal)
    await journal.pause("shop.order")
    assert await claim_refused(journal, over) is Refusal.INSTANCE_TERMINAL
    assert await claim_refused(journal, open_one) is Refusal.PAUSED
    await journal.unpause("shop.order")
    assert await claim_refused(journal, open_one) is Refusal.LEASE_HELD
    await journal.release(open_one, fencing_token=1)
    await claimed(journal, open_one)
