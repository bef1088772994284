"""The plans of the examples: what is on disk is what their sources build, and their node tables are as designed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flowx_cli.building import build_project
from flowx_runtime.plan import AwaitSignal, Delay, Emit, Fail, Poll, Step

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if (folder / "pyproject.toml").is_file())


def plan_of(example: str, flow: str) -> Any:
    sys.path.insert(0, str(EXAMPLES / example))
    try:
        package = __import__(f"{example}.plans", fromlist=["CATALOG"])
        return package.CATALOG.plan(flow)
    finally:
        sys.path.remove(str(EXAMPLES / example))


@pytest.mark.parametrize("example", NAMES)
def test_what_is_on_disk_is_what_the_source_builds(example: str) -> None:
    built = build_project(EXAMPLES / example, check=True)
    assert built.report.findings == ()
    assert built.stale == ()


@pytest.mark.parametrize("example", NAMES)
def test_generated_modules_are_formatted_and_typed(example: str) -> None:
    plans = EXAMPLES / example / example / "plans"
    ruff = [sys.executable, "-m", "ruff", "format", "--check", "--isolated", str(plans)]
    assert subprocess.run(ruff, capture_output=True, check=False).returncode == 0
    text = "\n".join(file.read_text("utf-8") for file in sorted(plans.glob("*.py")))
    assert str(EXAMPLES) not in text


def test_the_table_of_document_process() -> None:
    nodes = plan_of("polling", "document.process").nodes
    assert [type(node) for node in nodes] == [Step, Poll, Step, Step, Fail, Step, Emit]
    assert [getattr(node, "name", None) for node in nodes] == [
        "ocr.upload",
        None,
        "ocr.status",
        "document.escalate",
        None,
        "document.extract",
        "document.processed",
    ]
    assert nodes[0].compensation.id == "ocr.cancel"
    assert nodes[1].satisfied_target == 5
    assert nodes[1].signal.id == "ocr.completed"


def test_the_table_of_offer_accept() -> None:
    nodes = plan_of("offers", "offer.accept").nodes
    assert [type(node) for node in nodes] == [Step, AwaitSignal, Fail, Delay, Step]
    assert nodes[0].compensation.id == "offer.withdraw"
    assert nodes[1].signal_target == 3
    assert nodes[4].name == "onboarding.start"


def test_author_constants_stay_expressions() -> None:
    text = (EXAMPLES / "polling/polling/plans/document_process_v1_0_0.py").read_text("utf-8")
    assert "interval=OCR_POLLING" in text
    assert "from polling.waits import OCR_BUDGET, OCR_POLLING" in text
