"""What every journal must do with the steps inside capabilities that run at most once. See `journal_checks`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID, uuid4

from journal_checks import check
from journal_scene import LONG, NOON, OVER, claimed, done, ended, started

from flowx_runtime.journal.contract import Journal
from flowx_runtime.journal.once import OnceRecord
from flowx_runtime.journal.records import Commit, Refusal, Refused, State, StoredError

DONE = OnceRecord("order/pay/charge", is_done=True, value='{"id":  "r-1"}', type="shop:Receipt", attempts=2)
FAILED = OnceRecord(
    "order/pay/refund", is_done=False, attempts=1, error=StoredError("pay.down", "unavailable", "no"), due_at=NOON
)


async def kept(journal: Journal, instance_id: UUID, *records: OnceRecord, token: int = 1) -> None:
    assert await journal.record_once(instance_id, records, fencing_token=token) is None


async def refused(journal: Journal, instance_id: UUID, *records: OnceRecord, token: int = 1) -> Refusal:
    answer = await journal.record_once(instance_id, records, fencing_token=token)
    assert isinstance(answer, Refused)
    return answer.reason


@check
async def a_once_record_comes_back_as_it_was_written(journal: Journal) -> None:
    instance_id = await started(journal)
    empty = OnceRecord("order/pay/notify", is_done=True, value="null")
    await kept(journal, instance_id, DONE, FAILED, empty)
    assert list(await journal.once_records(instance_id, "order/pay")) == [DONE, empty, FAILED]


@check
async def once_records_are_those_of_a_path_and_below_it(journal: Journal) -> None:
    instance_id, other = await started(journal), await started(journal)
    paths = ["a/pay", "a/pay/charge", "a/pay/charge~1/ask", "a/pay2/charge", "a/pay%/charge", "b/pay/charge"]
    await kept(journal, instance_id, *(replace(DONE, path=path) for path in paths))
    await kept(journal, other, replace(DONE, path="a/pay/charge"))
    found = [record.path for record in await journal.once_records(instance_id, "a/pay")]
    assert found == ["a/pay", "a/pay/charge", "a/pay/charge~1/ask"]
    assert [record.path for record in await journal.once_records(instance_id, "a/pay%")] == ["a/pay%/charge"]
    assert list(await journal.once_records(uuid4(), "a/pay")) == []


@check
async def a_failure_is_replaced_and_what_is_done_is_not(journal: Journal) -> None:
    instance_id = await started(journal)
    await kept(journal, instance_id, FAILED)
    await kept(journal, instance_id, replace(FAILED, attempts=2, due_at=None))
    success = replace(DONE, path=FAILED.path, attempts=3)
    await kept(journal, instance_id, success)
    assert await refused(journal, instance_id, replace(success, value='"another"')) is Refusal.DUPLICATE_STEP
    assert await refused(journal, instance_id, FAILED) is Refusal.DUPLICATE_STEP
    assert list(await journal.once_records(instance_id, FAILED.path)) == [success]


@check
async def a_refused_once_record_takes_the_others_with_it(journal: Journal) -> None:
    instance_id = await started(journal)
    await kept(journal, instance_id, DONE)
    assert await refused(journal, instance_id, FAILED, DONE) is Refusal.DUPLICATE_STEP
    assert list(await journal.once_records(instance_id, FAILED.path)) == []


@check
async def a_former_owner_records_nothing(journal: Journal) -> None:
    instance_id = await started(journal, ttl=OVER)
    assert (await claimed(journal, instance_id)).lease.fencing_token == 2
    assert await refused(journal, instance_id, DONE) is Refusal.FENCED_OUT
    await kept(journal, instance_id, DONE, token=2)


@check
async def an_ended_or_unknown_instance_takes_no_once_record(journal: Journal) -> None:
    assert await refused(journal, await ended(journal), DONE, token=99) is Refusal.INSTANCE_TERMINAL
    assert await refused(journal, uuid4(), DONE) is Refusal.UNKNOWN_INSTANCE


@check
async def of_two_that_finish_one_step_at_the_same_time_one_is_recorded(journal: Journal) -> None:
    instance_id = await started(journal)
    answers = await asyncio.gather(
        *(
            journal.record_once(instance_id, [replace(DONE, value=f'"{number}"')], fencing_token=1)
            for number in range(8)
        )
    )
    assert sum(answer is None for answer in answers) == 1
    (record,) = await journal.once_records(instance_id, DONE.path)
    assert record.value == f'"{answers.index(None)}"'


@check
async def once_records_go_with_their_instance(journal: Journal) -> None:
    instance_id = await started(journal)
    await kept(journal, instance_id, DONE)
    await done(journal, Commit(instance_id, 1, state=State.COMPLETED, release_lease=True))
    assert [record.path for record in await journal.once_records(instance_id, "order/pay")] == [DONE.path]
    await journal.prune(older_than=await journal.now() + LONG)
    assert list(await journal.once_records(instance_id, "order/pay")) == []
