"""The page on deploying: its service starts on a real server and says what it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_readme import BLOCK, ROOT

PAGE = (ROOT / "docs/deploying.md").read_text("utf-8")
BLOCKS = {(match["kind"], match["what"]): match["text"] for match in BLOCK.finditer(PAGE)}
FLOW = """
from flowx_runtime import Contract, Flow, FlowBuilder, Internal, Profile, StepContext, capability, flow


class Person(Contract):
    name: str


@capability("person.greet", version="1.0.0", authorization=Internal(), idempotent=True)
async def greet(request: Person, ctx: StepContext) -> None: ...


@flow("person.greet", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class Greet(Flow[Person, None]):
    def define(self, flow: FlowBuilder[Person, None]) -> None:
        flow.step(greet)
"""


@pytest.mark.slow  # processes
def test_the_service_starts_and_says_what_it_runs(tmp_path: Path, postgres_dsn: str) -> None:
    (tmp_path / "greetings").mkdir()
    (tmp_path / "greetings/flows.py").write_text(FLOW, "utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.flowx]\nsources = ["greetings"]\nplans = "greetings.plans"\n')
    (tmp_path / "service.py").write_text(BLOCKS["file", "service.py"] + "\n", "utf-8")
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{tmp_path}", "FLOWX_DSN": postgres_dsn}
    for command in (["-m", "flowx_cli", "build"], ["service.py"]):
        run = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.strip() == BLOCKS["output of", "service.py"]
