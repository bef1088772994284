"""Every block of the page on events is run, and does what it says it does."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from flowx_runtime import Envelope, PostgresJournal, Publishing, PublishRefused
from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.journal.records import Commit, NewInstance, StagedEvent
from flowx_runtime.outbox.drain import Drain
from flowx_runtime.outbox.publisher import PublisherUnavailable
from flowx_runtime.outbox.signing import signed_headers
from tests.docs.test_readme import BLOCK, ROOT, flowx

PAGE = (ROOT / "docs/events.md").read_text("utf-8")
BLOCKS = {(match["kind"], match["what"] or ""): match["text"] for match in BLOCK.finditer(PAGE)}
ENVELOPE = Envelope(uuid4(), "order.paid", "1.0.0", uuid4(), 1, datetime(2031, 5, 6, tzinfo=UTC), "order.pay", "", "{}")


def module(name: str, folder: Path) -> ModuleType:
    path = folder / name
    path.write_text(BLOCKS["file", name] + "\n", "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.mark.slow  # starts processes
def test_the_shop_builds_and_publishes_as_shown(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "shop/flows.py", "service.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(BLOCKS["file", name] + "\n", "utf-8")
    assert "nothing found in 1 flow" in flowx("build", cwd=tmp_path)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{tmp_path}"}
    run = subprocess.run(
        [sys.executable, "service.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == BLOCKS["output of", "service.py"], run.stderr


def test_the_receiver_takes_what_is_genuine_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receiver = module("receiver.py", tmp_path)
    body = ENVELOPE.document().encode()
    headers = signed_headers([bytes(32)], str(ENVELOPE.event_id), datetime.now(UTC), body)
    secret = "A" * 43 + "="
    assert [receiver.receive(headers, body, secret) for _ in range(2)] == [204, 204]
    assert receiver.receive(headers, body + b" ", secret) == 401
    assert capsys.readouterr().out == "order.paid\n"


async def test_the_publisher_of_one_s_own_is_one(tmp_path: Path) -> None:
    own = module("own.py", tmp_path)

    class Queue:
        sent: list[Any] = []  # noqa: RUF012

        async def send(self, **message: Any) -> None:
            if self.sent:
                raise ConnectionResetError
            self.sent.append(message)

    publisher = own.ToQueue(Queue())
    await publisher.publish(ENVELOPE)
    assert Queue.sent == [{"key": str(ENVELOPE.instance_id), "value": ENVELOPE.document()}]
    with pytest.raises(PublisherUnavailable):
        await publisher.publish(ENVELOPE)


async def test_what_was_set_aside_is_listed_and_retried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], postgres_dsn: str, schema: str
) -> None:
    class Refusing:
        async def publish(self, _: Envelope) -> None:
            raise PublishRefused("not this one")

    journal = await PostgresJournal.open(postgres_dsn, schema=schema)
    instance = NewInstance(uuid4(), "order.pay", "1.0.0", "digest", "{}")
    await journal.start(instance, owner="a", ttl=timedelta(minutes=1))
    event = StagedEvent(uuid4(), "order.paid", "1.0.0", "{}", "key")
    await journal.commit(Commit(instance.instance_id, 1, events=(event,)))
    queries = [BLOCKS[kind].replace("flowx.", f"{schema}.").encode() for kind in (("sql", "lag"), ("sql", ""))]
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        pending = connection.execute(queries[0]).fetchone()
        assert pending is not None
        assert pending[0] == 1
        once = Publishing(max_refusals=1, backoff=Backoff.fixed("PT1H"))
        await Drain(journal, Refusing(), owner="a", settings=once).drain_once()
        assert connection.execute(queries[1]).fetchall() == [
            (instance.instance_id, event.event_id, "order.paid", 1, "PublishRefused: not this one")
        ]
        assert await module("set_aside.py", tmp_path).retry_all(journal) == 1
        assert connection.execute(queries[1]).fetchall() == []
    assert capsys.readouterr().out == "order.paid PublishRefused: not this one\n"
    await journal.close()


def test_the_numbers_are_the_ones_in_force() -> None:
    settings = Publishing()
    assert (settings.claim_ttl, settings.max_refusals) == (timedelta(seconds=30), 5)
    gaps = [settings.backoff.gap(attempt, draw=0.5) for attempt in (0, 1, 2, 30)]
    assert gaps == [timedelta(seconds=each) for each in (1, 2, 4, 300)]
