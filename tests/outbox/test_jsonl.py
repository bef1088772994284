"""Events as lines of a file that a killed process leaves whole."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outbox_scene import LONG, PATIENT, Remembering, drain, stage, stage_many

from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.journal.records import Commit, NewInstance, StagedEvent
from flowx_runtime.outbox.envelope import Envelope
from flowx_runtime.outbox.jsonl import JsonlPublisher, append_lines
from flowx_runtime.outbox.publisher import PublisherUnavailable

ROOT = Path(__file__).parents[2]


def lines(path: Path) -> list[dict[str, object]]:
    text = path.read_text("utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


async def envelope_of(payload: str) -> Envelope:
    journal = MemoryJournal()
    instance = NewInstance(uuid4(), "shop.order", "1.0.0", "digest", "{}")
    await journal.start(instance, owner="a", ttl=LONG)
    event = StagedEvent(uuid4(), "order.paid", "1.0.0", payload, "key")
    await journal.commit(Commit(instance.instance_id, 1, events=(event,)))
    publisher = Remembering()
    await drain(journal, publisher).drain_once()
    return publisher.taken[0]


async def test_every_event_is_a_line_in_order(journal, tmp_path) -> None:
    path = tmp_path / "out" / "events.jsonl"
    staged = await stage_many(journal, 8, 5)
    publisher = JsonlPublisher(path)
    assert await drain(journal, publisher).drain_once() == 40
    await publisher.close()
    written = lines(path)
    for instance_id in staged:
        mine = [line for line in written if line["subject"] == str(instance_id)]
        assert [line["data"] for line in mine] == [{"n": n} for n in range(5)]
        assert [line["sequence"] for line in mine] == sorted(str(line["sequence"]) for line in mine)


async def test_a_payload_stays_on_its_line_and_as_it_was_written(tmp_path) -> None:
    path = tmp_path / "events.jsonl"
    envelope = await envelope_of(
        '{\r\n  "total": 1.10, "big": 123456789012345678901234567890,\n  "text": "a\\nb\u2028"\n}'
    )
    publisher = JsonlPublisher(path)
    await publisher.publish(envelope)
    text = path.read_bytes()
    assert text.count(b"\n") == 1
    assert b"1.10" in text
    assert b"123456789012345678901234567890" in text
    (line,) = [json.loads(each) for each in text.split(b"\n") if each]
    assert line["data"]["text"] == "a\nb\u2028"


def test_half_a_line_that_a_killed_process_left_is_taken_away(tmp_path) -> None:
    path = tmp_path / "events.jsonl"
    whole = b'{"id": 1}\n{"id": 2}\n'
    for torn in (b"", b"{", b'{"id": 3, "data": {}}', b"x" * 200_000):
        path.write_bytes(whole + torn)
        append_lines(path, b'{"id": 4}\n')
        assert path.read_bytes() == whole + b'{"id": 4}\n'
    path.write_bytes(b"nothing but half a line")
    append_lines(path, b"{}\n")
    assert path.read_bytes() == b"{}\n"


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=5), st.integers(0, 200))
def test_wherever_a_write_is_cut_the_lines_before_it_stay(written: list[bytes], cut: int) -> None:
    text = b"".join(line + b"\n" for line in written)
    path = Path(tempfile.gettempdir()) / f"flowx-{uuid4().hex}.jsonl"
    try:
        path.write_bytes(text[:cut])
        append_lines(path, b"last\n")
        kept = text[: text[:cut].rfind(b"\n") + 1]
        assert path.read_bytes() == kept + b"last\n"
    finally:
        path.unlink()


APPENDING = """
import sys
import tempfile
sys.path.insert(0, {root!r})
from pathlib import Path
from flowx_runtime.outbox.jsonl import append_lines
for n in range(300):
    append_lines(Path({path!r}), b'{{"by": "%d", "n": %d, "more": "%s"}}\\n' % ({number}, n, b"x" * (n * 37 % 5000)))
    print(n, flush=True)
"""


@pytest.mark.slow  # three processes start
def test_processes_share_a_file_and_one_that_is_killed_leaves_no_half_line(tmp_path) -> None:
    path = tmp_path / "events.jsonl"
    programs = [APPENDING.format(root=str(ROOT), path=str(path), number=number) for number in range(3)]
    processes = [subprocess.Popen([sys.executable, "-c", each], stdout=subprocess.PIPE, text=True) for each in programs]
    assert processes[0].stdout is not None
    for line in processes[0].stdout:
        if int(line) >= 20:
            processes[0].kill()
            break
    for process in processes:
        process.communicate()
    append_lines(path, b'{"by": "3", "n": 0}\n')
    written = lines(path)
    for number in ("1", "2"):
        assert [line["n"] for line in written if line["by"] == number] == list(range(300))
    dead = [line["n"] for line in written if line["by"] == "0"]
    assert dead == list(range(len(dead)))
    assert len(dead) > 20


async def test_events_that_come_at_the_same_time_share_a_flush(journal, tmp_path, monkeypatch) -> None:
    flushes = 0
    fsync = os.fsync

    def counting(file: int) -> None:
        nonlocal flushes
        flushes += 1
        fsync(file)

    monkeypatch.setattr(os, "fsync", counting)
    await stage_many(journal, 64, 1)
    assert await drain(journal, JsonlPublisher(tmp_path / "events.jsonl")).drain_once() == 64
    assert 0 < flushes <= 16


async def test_a_file_that_was_moved_away_is_made_anew(tmp_path) -> None:
    path, old = tmp_path / "events.jsonl", tmp_path / "events.1.jsonl"
    journal = MemoryJournal()
    publisher = JsonlPublisher(path)
    await stage(journal, 1)
    await drain(journal, publisher).drain_once()
    path.rename(old)
    await stage(journal, 2)
    await drain(journal, publisher).drain_once()
    assert (len(lines(old)), len(lines(path))) == (1, 2)


async def test_a_file_that_cannot_be_written_is_tried_again_and_no_event_is_set_aside(tmp_path) -> None:
    folder = tmp_path / "events"
    folder.write_text("a file where a folder should be")
    journal = MemoryJournal()
    instance_id = await stage(journal, 1)
    publisher = JsonlPublisher(folder / "events.jsonl")
    draining = drain(journal, publisher, PATIENT)
    await draining.drain_once()
    (event,) = journal._queues[instance_id].events.values()
    assert (event.attempts, event.refusals) == (1, 0)
    assert event.last_error.startswith(PublisherUnavailable.__name__)
    folder.unlink()
    event.next_attempt_at = await journal.now()
    await draining.drain_once()
    assert len(lines(folder / "events.jsonl")) == 1


async def test_an_append_that_its_publisher_gave_up_on_does_no_harm(tmp_path) -> None:
    path = tmp_path / "events.jsonl"
    publisher = JsonlPublisher(path)
    given_up = asyncio.create_task(publisher.publish(await envelope_of('{"n": 1}')))
    await asyncio.sleep(0)
    given_up.cancel()
    await publisher.publish(await envelope_of('{"n": 2}'))
    await publisher.close()
    assert [line["data"] for line in lines(path)] == [{"n": 1}, {"n": 2}]
