"""Runs the command line in a process of its own, in a project made for the test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowx_compiler.rules.examples import shop

ROOT = Path(__file__).parents[2]
FLOW = '''\
"""A flow."""

from flowx_runtime import Flow, FlowBuilder, Profile, flow
from shop import JITTERED, JobStatus, OrderResult, PlaceOrder, TooLate, job_status, nudge_job, open_review, start_job


@flow("order.place", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")
class PlaceAnOrder(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(start_job)
        flow.poll_until(
            job_status, until=lambda ctx: ctx.get(JobStatus).done, interval=JITTERED, timeout="PT1H"
        ).on_timeout(lambda late: late.fail(TooLate))
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))
'''
PYPROJECT = '[tool.flowx]\nsources = ["."]\nplans = "plans"\n'


@dataclass(frozen=True)
class Project:
    """A small application in a temporary folder."""

    root: Path

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, "utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text("utf-8")
        assert old in text, f"{old!r} is not in {name}: the edit would change nothing"
        self.write(name, text.replace(old, new))

    def flowx(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flowx_cli", *arguments],
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"} | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def generated(self) -> list[str]:
        """What building wrote."""
        found = [*(self.root / "plans").rglob("*.py"), self.root / "flowx.manifest.json"]
        return sorted(path.relative_to(self.root).as_posix() for path in found if path.exists())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "app")
    made.write("pyproject.toml", PYPROJECT)
    made.write("shop.py", shop())
    made.write("flows.py", FLOW)
    return made


@pytest.fixture
def edited(project: Project) -> Callable[[str, str], Project]:
    """The project with one edit in its flow."""

    def edit(old: str, new: str) -> Project:
        project.edit("flows.py", old, new)
        return project

    return edit
