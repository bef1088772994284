"""The demos of the examples that stand for themselves; the README's own is tested with the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT


@pytest.fixture
def demo(tmp_path: Path, postgres_dsn: str):
    def show(*arguments: str, code: int = 0) -> str:
        ran = subprocess.run(
            [sys.executable, "-m", "flowx_cli", "demo", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT), "FLOWX_DSN": postgres_dsn},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stderr
        return ran.stdout + ran.stderr

    return show


@pytest.mark.slow  # waits twice until the processor is to be asked again
def test_a_charge_through_a_processor_that_is_down_twice_happens_once(demo) -> None:
    told = demo("once")
    charge = re.findall(r"payment.capture/charge +(failed|done) +(\d)", told)
    assert charge == [("failed", "1"), ("failed", "2"), ("done", "3")]
    assert "charge 4200; charge 4200; charge 4200\n" in told
    assert "4200 cents in all" in told
    assert len(re.findall(r"reserve \d", told)) == 2


@pytest.mark.slow  # another node has to notice that one is dead
def test_a_node_that_is_killed_between_a_charge_and_its_record_leaves_one_charge(demo) -> None:
    told = demo("once", "--kill")
    outside = told.rpartition("what the systems outside saw:")[2]
    assert len(re.findall("reserve", outside)) == 2
    keys = re.findall(r"the processor: +key (\w+)…, (.*)", outside)
    assert [what for _, what in keys] == ["charged 4200 cents", "a key it knows: nothing is charged"]
    assert keys[0][0] == keys[1][0]
    assert '"status": "completed"' in told


@pytest.mark.slow  # builds an example and runs it on a server
def test_a_failure_at_the_last_step_undoes_everything_in_reverse(demo) -> None:
    told = demo("workflow", "--fail")
    rows = re.findall(r"\| (\S+) +\| (Success|Compensated)", told)
    undone = [name for name, outcome in rows if outcome == "Compensated"]
    assert undone == [
        "workspace.cancel_pass",
        "workspace.release_desk",
        "equipment.return",
        "equipment.return",
        "access.revoke",
        "hardware.cancel",
        "identity.disable",
        "payroll.close",
    ]
    assert "now stands: nothing" in told
    assert "AB123456C" not in told


def test_a_story_that_an_example_does_not_have_is_refused(demo) -> None:
    assert "the demo 'once' has no story --signal" in demo("once", "--signal", code=2)
    assert "two different stories" in demo("polling", "--signal", "--timeout", code=2)
