"""Every block of the page on operating is run, and what it promises is what is in force."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
import yaml
from psycopg import sql
from psycopg.conninfo import make_conninfo

from flowx_cli.commands.worker import command as worker_command
from flowx_cli.working import _PUBLISHING
from flowx_compiler.config import load_config
from flowx_runtime import MemoryJournal, Publishing
from flowx_runtime.journal.postgres.presence import Watching
from tests.cli.worker_scene import OFFER, Site, make_site
from tests.docs.test_readme import BLOCK, ROOT

PAGE = (ROOT / "docs/operating.md").read_text("utf-8")
BLOCKS = {(match["kind"], match["what"] or ""): match["text"] for match in BLOCK.finditer(PAGE)}


@pytest.fixture(scope="module")
def site(postgres_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    name = f"operating_{uuid4().hex}"
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield make_site(tmp_path_factory.mktemp("operating"), make_conninfo(postgres_dsn, dbname=name))
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def lines(what: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in BLOCKS["shell", what].splitlines()]


def steady(text: str) -> str:
    text = re.sub(r"version \d+", "version <n>", text)
    return re.sub(r"PT2M\S* late \(.*\)", "PT2M late (<instant>)", text.strip())


@pytest.mark.slow  # starts processes
def test_the_commands_do_what_the_page_says(site: Site) -> None:
    migrate, worker = lines("migrate")
    assert site.flowx(*migrate).returncode == 0
    assert worker[0] == "worker"
    with site.worker(*[word if word != "8080" else "0" for word in worker[1:]]) as running:
        port = r"on port \d+"
        assert re.sub(port, "", running.says) == re.sub(port, "", BLOCKS["output of", "worker"])
        assert running.stop() == 0

    ids = [site_run(site) for _ in range(4)]
    ended = "update flow_instance set state = %s, wait_count = 0, wake_at = null, wake_step_id = null"
    ended += ", wake_scope = null"
    site.rows(f"{ended}, updated_at = now() - interval '40 days' where instance_id = %s", "Completed", ids[0])
    ((status,),) = [lines("prune")]
    pruned = site.flowx(*status)
    assert pruned.stdout.strip() == BLOCKS["output of", "prune"]

    site.rows(f"{ended}, error = %s where instance_id = %s", "CompensationFailed", '{"code": "late"}', ids[1])
    site.rows(
        "insert into flow_step (instance_id, scope, step_id, attempt, sequence, name, capability_id, outcome, error,"
        " committed_at) values (%s, '', 0, 2, 9, 'send', 'offer.withdraw', 'Failure', '{\"code\": \"away\"}', now())",
        ids[1],
    )
    site.rows("update flow_instance set wake_at = now() - interval '2 minutes' where instance_id = %s", ids[2])
    (pause,) = lines("pause")
    assert site.flowx(*pause).stdout.strip() == BLOCKS["output of", "pause"]
    assert site.flowx("unpause", pause[1]).returncode == 0
    ((status,),) = [lines("status")]
    assert steady(site.flowx(*status).stdout) == steady(BLOCKS["output of", "status"])
    assert [str(row[0]) for row in site.rows(BLOCKS["sql", "compensation"])] == [ids[1]]
    assert site.rows(BLOCKS["sql", "compensation"])[0][1:] == ("offer.accept", "late", "send", "offer.withdraw", "away")
    ((flow_id, version, digest, count),) = site.rows(BLOCKS["sql", "versions"])
    assert (flow_id, version, len(digest), count) == ("offer.accept", "1.0.0", 12, 2)


def site_run(site: Site) -> str:
    ran = site.flowx("run", "offer.accept", "--input", OFFER, "--json")
    assert ran.returncode == 0, ran.stderr
    return re.findall(r'"instanceId": "(.*?)"', ran.stdout)[0]


def test_the_publisher_is_a_setting(tmp_path: Path) -> None:
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(BLOCKS["part of", "pyproject.toml"] + '\nsources = ["a"]\nplans = "a.plans"\n')
    assert load_config(pyproject)[0].publisher == "offers.app:publisher"


def test_the_deployment_starts_a_worker_and_lets_it_drain() -> None:
    deployment = yaml.safe_load(BLOCKS["file", "worker.yaml"])
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    program, verb, *options = container["args"]
    assert (program, verb) == ("flowx", "worker")
    given = worker_command.make_context("worker", options).params
    assert pod["terminationGracePeriodSeconds"] > given["drain"]
    probes = [container[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")]
    assert probes == [{"path": path, "port": given["health_port"]} for path in ("/healthz", "/readyz")]


def test_the_host_with_telemetry_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "telemetry_of_page.py"
    path.write_text(BLOCKS["file", "telemetry.py"] + "\n", "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, made)
    spec.loader.exec_module(made)
    made.host(MemoryJournal())


def test_what_is_to_be_watched_is_measured() -> None:
    source = (ROOT / "flowx_runtime/telemetry/opentelemetry.py").read_text("utf-8")
    named = set(re.findall(r"flowx_\w+_(?:total|seconds|active)", PAGE))
    assert named == set(re.findall(r"flowx_\w+_(?:total|seconds|active)", source))


def test_the_numbers_are_the_ones_in_force() -> None:
    watching = Watching()
    assert watching.interval == timedelta(seconds=2)  # every two seconds
    assert watching.grace == timedelta(milliseconds=500)  # half a second later
    assert watching.lease_ttl == timedelta(seconds=30)  # run out after 30 s
    assert worker_command.make_context("worker", []).params["drain"] == 30
    assert Publishing().max_refusals == 5  # five times
    assert Publishing().claim_ttl == timedelta(seconds=30)
    assert timedelta(seconds=10) == _PUBLISHING.interval
