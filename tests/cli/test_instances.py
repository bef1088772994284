"""`flowx cancel` and `flowx replay` on an instance that `flowx run` parked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

ROOT = Path(__file__).parents[2]
OFFER = '{"candidate_id": "c-1", "role": "engineer", "site": "london"}'


@pytest.fixture
def flowx(tmp_path, postgres_dsn):
    """Runs a verb in a copy of the offers example."""
    project = shutil.copytree(ROOT / "examples" / "offers", tmp_path / "offers")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flowx_cli", *arguments],
            cwd=project,
            env=os.environ | {"PYTHONPATH": str(ROOT), "FLOWX_DSN": postgres_dsn},
            capture_output=True,
            text=True,
            check=False,
        )

    built = run("build")
    assert built.returncode == 0, built.stderr
    return run


@pytest.fixture
def parked(flowx) -> str:
    ran = flowx("run", "offer.accept", "--input", OFFER, "--json")
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert document["status"] == "suspended"
    return str(document["instanceId"])


def test_a_parked_instance_replays_is_cancelled_and_replays_again(flowx, parked) -> None:
    assert json.loads(flowx("replay", parked, "--json").stdout)["same"] is True
    cancelled = json.loads(flowx("cancel", parked, "--reason", "withdrawn", "--json").stdout)
    assert (cancelled["status"], cancelled["code"], cancelled["detail"]) == ("failed", "flow.cancelled", "withdrawn")
    again = flowx("replay", parked)
    assert again.returncode == 0
    assert again.stdout.startswith("same path")


def test_an_unknown_instance_is_not_there(flowx) -> None:
    for verb in ("cancel", "replay"):
        answer = flowx(verb, str(uuid4()))
        assert answer.returncode == 3
        assert "the journal has no instance" in answer.stderr


def test_what_is_no_instance_id_is_a_wrong_command(flowx) -> None:
    assert flowx("replay", "seven").returncode == 2
