"""Verbs that act on instances open what the project's key ring sealed, in whichever of its applications."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import psycopg
import pytest

from tests.cli.conftest import ROOT

PYPROJECT = """
[tool.flowx]
key-ring = "shared:key_ring"

[[tool.flowx.application]]
name = "first"
sources = ["first"]
plans = "first.plans"

[[tool.flowx.application]]
name = "second"
sources = ["second"]
plans = "second.plans"
"""
SHARED = """
import os
from base64 import b64decode

from flowx_runtime import KeyRing


def key_ring() -> KeyRing:
    return KeyRing({"k1": b64decode(os.environ["SEAL"])}, current="k1")
"""
FLOWS = """
from flowx_runtime import Contract, Flow, FlowBuilder, Internal, Profile, Sensitive, StepContext
from flowx_runtime import capability, flow, signal


class Secret(Contract):
    word: Sensitive[str]


class Length(Contract):
    letters: int


@signal("NAME.go")
class Go(Contract):
    by: str


@capability("NAME.count", version="1.0.0", authorization=Internal(), idempotent=True)
async def count(request: Secret, ctx: StepContext) -> Length:
    return Length(letters=len(request.word))


@flow("NAME.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class Count(Flow[Secret, Length]):
    def define(self, flow: FlowBuilder[Secret, Length]) -> None:
        flow.await_signal(Go, timeout="PT1H")
        flow.step(count)
        flow.returns(lambda ctx: ctx.get(Length))
"""


@pytest.mark.slow  # a process for each verb
def test_what_was_sealed_is_opened_and_never_shown(tmp_path: Path, postgres_dsn: str) -> None:
    settings = {
        "PYTHONPATH": f"{ROOT}:{tmp_path}",
        "FLOWX_DSN": postgres_dsn,
        "SEAL": b64encode(secrets.token_bytes(32)).decode(),
    }

    def flowx(*arguments: str) -> str:
        command = [sys.executable, "-m", "flowx_cli", *arguments]
        ran = subprocess.run(
            command, cwd=tmp_path, env=os.environ | settings, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert "hidden" not in ran.stdout + ran.stderr
        return ran.stdout

    (tmp_path / "pyproject.toml").write_text(PYPROJECT, "utf-8")
    (tmp_path / "shared.py").write_text(SHARED, "utf-8")
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "flows.py").write_text(FLOWS.replace("NAME", name), "utf-8")
    flowx("build")
    started = json.loads(flowx("run", "second.flow", "--input", '{"word": "hidden"}', "--json"))
    instance = started["instanceId"]
    with psycopg.connect(postgres_dsn) as connection:
        (stored,) = connection.execute(
            "select input::text from flowx.flow_instance where instance_id = %s", [instance]
        ).fetchone() or ("",)
    assert "flowx.sealed/1" in stored
    assert json.loads(flowx("inspect", instance, "--json"))["input"] == {"word": "[redacted]"}
    done = json.loads(flowx("signal", instance, "second.go", "--data", '{"by": "ada"}', "--json"))
    assert (done["status"], done["output"]) == ("completed", {"letters": 6})
    assert json.loads(flowx("replay", instance, "--json"))["same"] is True
