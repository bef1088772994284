"""Events in a real JetStream: stored once however often they are published, in the order of their instance."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from outbox_scene import PATIENT, PROMPT, drain, stage, stage_many, until

from flowx_runtime.journal.memory.journal import MemoryJournal
from flowx_runtime.outbox.jetstream import NatsPublisher

nats = pytest.importorskip("nats", reason="nats-py is not installed")
BESIDE = Path(sys.executable).with_name("nats-server")
SERVER = str(BESIDE) if BESIDE.exists() else shutil.which("nats-server")
pytestmark = pytest.mark.skipif(SERVER is None, reason="no nats-server on this machine")


class Server:
    """A nats-server of the test's own, on a port that stays the same when it is started again."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [SERVER, "-js", "-a", "127.0.0.1", "-p", str(self.port), "-sd", str(self._folder), "-l"]
        assert SERVER is not None
        self._process = subprocess.Popen([*command, str(self._folder / "server.log")])  # type: ignore[list-item]
        while self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                time.sleep(0.01)
            else:
                return
        raise AssertionError((self._folder / "server.log").read_text("utf-8"))

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("nats"))
    yield running
    running.stop()


@pytest.fixture
async def stream(server: Server) -> AsyncIterator[Any]:
    """An empty stream that takes every subject under `flowx`."""
    client = await nats.connect(server.url)
    manager = client.jetstream()
    await manager.add_stream(name="FLOWX", subjects=["flowx.>"], duplicate_window=120)
    yield manager
    await manager.delete_stream("FLOWX")
    await client.close()


async def stored(stream: Any) -> list[Any]:
    found = (await stream.stream_info("FLOWX")).state
    return [await stream.get_msg("FLOWX", seq) for seq in range(found.first_seq, found.last_seq + 1)]


async def test_events_are_stored_in_order_under_their_type(journal, server, stream) -> None:
    staged = await stage_many(journal, 4, 5)
    publisher = NatsPublisher(server.url)
    assert await drain(journal, publisher).drain_once() == 20
    await publisher.close()
    messages = await stored(stream)
    assert {message.subject for message in messages} == {"flowx.order.paid"}
    assert {message.headers["content-type"] for message in messages} == {"application/cloudevents+json"}
    documents = [json.loads(message.data) for message in messages]
    assert [message.headers["Nats-Msg-Id"] for message in messages] == [document["id"] for document in documents]
    for instance_id in staged:
        mine = [document["data"] for document in documents if document["subject"] == str(instance_id)]
        assert mine == [{"n": n} for n in range(5)]


async def test_an_event_that_is_published_again_is_stored_once(server, stream) -> None:
    journal = MemoryJournal()
    await stage_many(journal, 3, 3)
    publisher = NatsPublisher(server.url)

    async def forgets(_: object) -> None:
        return None

    noting, journal.settle_events = journal.settle_events, forgets  # type: ignore[method-assign, assignment]
    draining = drain(journal, publisher)
    claim = await draining._take_up()
    await draining._come_to_rest()
    assert len(claim.events) == draining.counts.published == 9
    journal.settle_events = noting  # type: ignore[method-assign]
    for queue in journal._queues.values():
        queue.claimed_until = None
    assert await drain(journal, publisher).drain_once() == 9
    await publisher.close()
    messages = await stored(stream)
    assert len(messages) == 9
    assert len({message.headers["Nats-Msg-Id"] for message in messages}) == 9


async def test_a_subject_that_no_stream_takes_sets_no_event_aside(server, stream) -> None:
    journal = MemoryJournal()
    instance_id = await stage(journal, 1)
    publisher = NatsPublisher(server.url, prefix="nobody.takes.this")
    draining = drain(journal, publisher, PATIENT)
    await draining.drain_once()
    await publisher.close()
    (event,) = journal._queues[instance_id].events.values()
    assert (event.attempts, event.refusals) == (1, 0)
    assert "no stream takes nobody.takes.this.order.paid" in event.last_error


async def test_an_event_larger_than_the_stream_takes_is_refused(server, stream) -> None:
    await stream.update_stream(name="FLOWX", subjects=["flowx.>"], max_msg_size=64)
    journal = MemoryJournal()
    instance_id = await stage(journal, 1)
    publisher = NatsPublisher(server.url)
    await drain(journal, publisher, PATIENT).drain_once()
    await publisher.close()
    (event,) = journal._queues[instance_id].events.values()
    assert (event.attempts, event.refusals) == (1, 1)


async def test_a_server_that_goes_and_comes_back_has_every_event_once(server, stream) -> None:
    journal = MemoryJournal()
    await stage_many(journal, 4, 4)
    publisher = NatsPublisher(server.url, options={"reconnect_time_wait": 0.05, "error_cb": _quietly})
    knobs = replace(PROMPT, timeout=timedelta(milliseconds=300))
    draining = drain(journal, publisher, knobs)
    assert await draining.drain_once() == 16
    await asyncio.to_thread(server.stop)
    await stage_many(journal, 4, 4)
    await draining.drain_once()
    assert draining.counts.published == 16
    assert draining.counts.failed > 0
    await asyncio.to_thread(server.start)
    await until(lambda: draining.counts.published == 32, work=draining.drain_once)
    await publisher.close()
    assert draining.counts.poisoned == 0
    messages = await stored(stream)
    assert len(messages) == 32


async def test_nobody_at_the_address_is_no_refusal() -> None:
    journal = MemoryJournal()
    instance_id = await stage(journal, 1)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    options = {"max_reconnect_attempts": 1, "reconnect_time_wait": 0.01, "error_cb": _quietly}
    await drain(journal, NatsPublisher(f"nats://127.0.0.1:{port}", options=options), PATIENT).drain_once()
    (event,) = journal._queues[instance_id].events.values()
    assert (event.attempts, event.refusals) == (1, 0)


async def _quietly(_: Exception) -> None:
    return None


@pytest.mark.parametrize("prefix", ["", "a b", "flowx.*", "flowx.>", ".flowx", "flowx."])
def test_a_prefix_that_cannot_begin_a_subject_is_refused(prefix) -> None:
    with pytest.raises(ValueError, match="cannot begin a subject"):
        NatsPublisher("nats://localhost", prefix=prefix)
