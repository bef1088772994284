"""`flowx worker` as a process: what it says, how it is asked, how it stops."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.cli.worker_scene import OFFER, PATIENCE, Site, make_site

PUBLISHER = """

def publisher():
    from flowx_runtime import JsonlPublisher

    return JsonlPublisher("events.jsonl")
"""


@pytest.fixture(scope="module")
def site(postgres_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for all tests here, on a database of its own."""
    name = f"worker_{uuid4().hex}"
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        made = make_site(tmp_path_factory.mktemp("worker"), make_conninfo(postgres_dsn, dbname=name))
        assert made.flowx("db", "migrate").returncode == 0
        yield made
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def test_p58_a_worker_says_what_it_runs_answers_how_it_is_and_stops_when_told(site: Site) -> None:
    with site.worker("--concurrency", "8", "--drain", "5") as worker:
        assert worker.says.startswith("runs offer.accept 1.0.0; on the PostgreSQL that was named")
        assert worker.get("/healthz") == (200, '{"status": "ok"}')
        assert worker.get("/readyz") == (200, '{"status": "ok"}')
        assert worker.get("/readyz", "HEAD") == (200, "")
        assert worker.get("/healthz", "POST")[0] == 405
        assert worker.get("/")[0] == 404
        site.comes(lambda: site.rows("select count(*) from flow_node") == [(1,)])
        assert worker.stop() == 0
        assert worker.messages[-1] == "stopped"
    assert site.rows("select count(*) from flow_node") == [(0,)]


def test_a_worker_serves_the_flows_to_whom_the_project_s_authenticator_knows(site: Site) -> None:
    with site.worker("--http", "0") as worker:
        port = int(worker.says.partition("serves HTTP on port ")[2].split()[0].rstrip(";"))
        described = json.loads(worker.get("/openapi.json", port=port)[1])
        assert "/api/v1/offers/{instanceId}" in described["paths"]
        status, answer = worker.get("/api/v1/offers/x", port=port)
        assert (status, json.loads(answer)["code"]) == (401, "authorization.not_authenticated")
        assert worker.stop() == 0


def test_what_a_client_parked_a_worker_goes_on_with(site: Site) -> None:
    with site.worker() as worker:
        site.comes(lambda: site.rows("select count(*) from flow_node") == [(1,)])
        ran = json.loads(site.flowx("run", "offer.accept", "--input", OFFER, "--json").stdout)
        site.rows(
            "update flow_instance set wake_at = now() - interval '1 day' where instance_id = %s", ran["instanceId"]
        )
        channel = "select pg_notify('flowx_' || left(encode(sha256('flowx'), 'hex'), 16), '')"
        site.rows(channel)
        state = "select state from flow_instance where instance_id = %s"
        site.comes(lambda: site.rows(state, ran["instanceId"]) == [("Failed",)])
        assert worker.stop(signal.SIGINT) == 0


def test_a_worker_whose_database_is_gone_is_alive_and_not_ready(site: Site) -> None:
    with site.worker() as worker, psycopg.connect(make_conninfo(site.dsn, dbname="postgres"), autocommit=True) as admin:
        allow = sql.SQL("alter database {} allow_connections {}")
        admin.execute(allow.format(sql.Identifier(site.name), sql.SQL("false")))
        admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [site.name])
        site.comes(lambda: worker.get("/readyz")[0] == 503)
        assert worker.get("/healthz")[0] == 200
        admin.execute(allow.format(sql.Identifier(site.name), sql.SQL("true")))
        site.comes(lambda: worker.get("/readyz")[0] == 200)
        assert worker.stop() == 0


def test_a_publisher_of_the_project_takes_its_events(site: Site) -> None:
    pyproject, app = site.folder / "pyproject.toml", site.folder / "offers" / "app.py"
    before = pyproject.read_text(), app.read_text()
    pyproject.write_text(before[0].replace("[tool.flowx]\n", '[tool.flowx]\npublisher = "offers.app:publisher"\n'))
    app.write_text(before[1] + PUBLISHER)
    with site.worker() as worker:
        assert "publishes by JsonlPublisher" in worker.says
        assert worker.stop() == 0
    pyproject.write_text(before[0].replace("[tool.flowx]\n", '[tool.flowx]\npublisher = "offers.app:nothing"\n'))
    refused = site.flowx("worker")
    pyproject.write_text(before[0])
    app.write_text(before[1])
    assert refused.returncode == 3
    assert "[tool.flowx] publisher names 'offers.app:nothing'" in refused.stderr


def test_a_package_of_plans_alone_is_enough(site: Site, tmp_path: Path) -> None:
    site_packages = Site(tmp_path, site.dsn)
    site_packages.environment["PYTHONPATH"] += f":{site.folder}"
    refused = site_packages.flowx("worker", "--plans", "offers.plans")
    assert refused.returncode != 0  # its capabilities need what only the project's configuration gives
    assert "capabilit" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert site_packages.flowx("worker", "--plans", "no.such").returncode == 3
    assert site_packages.flowx("worker").returncode == 2


def test_a_database_that_was_not_migrated_is_refused(site: Site) -> None:
    dsn = make_conninfo(site.dsn, dbname="template1")
    refused = site.flowx("worker", "--dsn", dsn)
    assert refused.returncode == 2
    assert "run `flowx db migrate`" in refused.stderr


@pytest.mark.parametrize("option", ["--http", "--health-port"])
def test_a_port_that_is_taken_is_one_sentence(site: Site, option: str) -> None:
    with socket.create_server(("0.0.0.0", 0)) as taken:
        refused = site.flowx("worker", option, str(taken.getsockname()[1]))
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr


def test_a_worker_stops_without_a_word_beside_somebody_who_asks_nothing(site: Site) -> None:
    with site.worker() as worker:
        assert worker.get("/healthz")[0] == 200
        with socket.create_connection(("127.0.0.1", int(worker.says.rpartition(" ")[2]))):
            assert worker.stop() == 0
        assert "Traceback" not in worker._log.read_text()


SLOW = """\
import asyncio

from flowx_runtime import Contract, Flow, FlowBuilder, Profile, Public, StepContext, capability, flow, http_trigger


class Ask(Contract):
    id: str


class Answer(Contract):
    id: str


@capability("slow.answer", version="1.0.0", authorization=Public(approved_by="us"), idempotent=True)
async def answer(request: Ask, ctx: StepContext) -> Answer:
    await asyncio.sleep(600)
    return Answer(id=request.id)


@flow("slow.ask", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
@http_trigger("POST", "/asks")
class AskSlowly(Flow[Ask, Answer]):
    def define(self, flow: FlowBuilder[Ask, Answer]) -> None:
        flow.step(answer).returns(lambda ctx: ctx.get(Answer))
"""


def test_a_request_that_waits_for_a_flow_keeps_no_worker_longer_than_its_drain(site: Site, tmp_path: Path) -> None:
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "__init__.py").touch()
    (tmp_path / "slow" / "flows.py").write_text(SLOW)
    settings = 'application = "slow"\nsources = ["slow"]\nplans = "slow.plans"\n'
    (tmp_path / "pyproject.toml").write_text(f"[tool.flowx]\n{settings}")
    slow = Site(tmp_path, site.dsn)
    built = slow.flowx("build")
    assert built.returncode == 0, built.stdout + built.stderr
    with slow.worker("--http", "0", "--drain", "0") as worker, ThreadPoolExecutor() as pool:
        assert "serves HTTP on port" in worker.says
        assert "to anonymous callers alone" in worker.says
        port = int(worker.says.partition("serves HTTP on port ")[2].split()[0].rstrip(";"))
        asking = pool.submit(worker.post, "/asks", b'{"id": "a"}', port)
        slow.comes(
            lambda: slow.rows(
                "select 1 from flow_lease l join flow_instance i using (instance_id)"
                " where i.flow_id = 'slow.ask' and l.expires_at > now()"
            )
        )
        assert worker.stop() == 0
        assert asking.result(PATIENCE)[0] == 503
    assert slow.rows("select state from flow_instance where flow_id = 'slow.ask'") == [("Running",)]
