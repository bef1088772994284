"""`init`, `completion` and `verify --cost`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flowx_cli.building import build_project
from flowx_cli.starter import package_name
from tests.cli.conftest import ROOT
from tests.cli.operated import Operator


@pytest.fixture
def flowx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    return Operator(tmp_path, monkeypatch, [])


def python(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environment |= {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=root, env=os.environ | environment, capture_output=True, text=True, check=False)


def test_a_new_project_builds_passes_its_tests_and_runs(flowx: Operator, postgres_dsn: str) -> None:
    begun = flowx("init", "grand-hotel")
    assert begun.code == 0
    root = flowx.root / "grand-hotel"
    assert build_project(root, check=True).stale == ()
    plugin = ("-p", "flowx_runtime.testing.pytest_plugin")
    tested = python(root, "-m", "pytest", "-q", *plugin)
    assert "2 passed" in tested.stdout, tested.stdout
    booking = '{"guest": "Ada", "nights": 2}'
    assert f"cd grand-hotel && flowx run room.book --input '{booking}'" in begun.out
    ran = python(root, "-m", "flowx_cli", "run", "room.book", "--input", booking, FLOWX_DSN=postgres_dsn)
    assert '"awaiting": ["booking.confirmed"]' in ran.stdout, ran.stderr


def test_nothing_that_is_there_is_overwritten(flowx: Operator) -> None:
    (flowx.root / "tests").mkdir()
    (flowx.root / "tests" / "test_booking.py").write_text("mine")
    refused = flowx("init")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "test_booking.py is there already" in refused.err
    assert [path.name for path in flowx.root.rglob("*.*")] == ["test_booking.py"]


@pytest.mark.parametrize(
    ("folder", "package"),
    [
        ("Grand Hotel", "grand_hotel"),
        ("7-up", "app_7_up"),
        ("class", "app_class"),
        ("tests", "app_tests"),
        ("…", "app_"),
    ],
)
def test_a_package_has_a_name_that_can_be_imported(folder: str, package: str) -> None:
    assert package_name(folder) == package
    assert package_name(folder).isidentifier()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_what_it_needs_to_complete(flowx: Operator, shell: str) -> None:
    script = flowx("completion", shell)
    assert script.code == 0
    assert f"_FLOWX_COMPLETE={shell}_complete" in script.out


def test_verbs_and_options_are_completed(tmp_path: Path) -> None:
    for words, expected in (("flowx re", {"replay", "resume", "retry"}), ("flowx ps --st", {"--state"})):
        asked = {"_FLOWX_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        answer = python(tmp_path, "-m", "flowx_cli", **asked)
        assert {line.rpartition(",")[2] for line in answer.stdout.split()} == expected


FLOWS = """\
from flowx_runtime import Flow, FlowBuilder, Profile, flow
from shop import JITTERED, JobStatus, OrderResult, PlaceOrder, job_status, open_review, start_job, validate_order


@flow("order.check", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class Check(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(validate_order).named("checked")
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))


@flow("order.watch", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class Watch(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(start_job)
        flow.poll_until(job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout="PT1H")
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))


@flow("order.quick", version="1.0.0", profile=Profile.EPHEMERAL)
class Quick(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(validate_order)
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))
"""


def test_a_durable_flow_that_could_run_in_memory_is_named(project) -> None:
    project.write("flows.py", FLOWS)
    assert project.flowx("build").returncode == 0
    found = project.flowx("verify", "--cost", "--json")
    assert found.returncode == 1, found.stderr
    document = json.loads(found.stdout)
    assert (document["durableFlows"], document["flagged"]) == (2, 1)
    (finding,) = document["findings"]
    assert (finding["flow"], finding["version"], finding["rows"]) == ("order.check", "1.0.0", 1)
    text = project.flowx("verify", "--cost").stdout.splitlines()
    assert text[-1] == "1 of 2 durable flows could run in memory"
    assert max(map(len, text)) <= 100
    project.edit("flows.py", '.named("checked")', '.named("checked").delay("PT1H")')
    assert project.flowx("build").returncode == 0
    assert project.flowx("verify", "--cost").stdout == "nothing found in 2 durable flows\n"
    assert project.flowx("verify").returncode == 2
