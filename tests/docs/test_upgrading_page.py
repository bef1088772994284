"""The page on changes in flight: its project is built, parked, changed and pruned as it tells."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_readme import BLOCK, ROOT

PAGE = (ROOT / "docs/upgrading.md").read_text("utf-8")
BLOCKS = {(match["kind"], match["what"]): match["text"] for match in BLOCK.finditer(PAGE)}


@pytest.mark.slow  # git and flowx are processes
def test_a_parcel_waits_through_a_release(tmp_path: Path, postgres_dsn: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "FLOWX_DSN": postgres_dsn}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    def flowx(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run(sys.executable, "-m", "flowx_cli", *arguments)

    for (kind, what), text in BLOCKS.items():
        if kind == "file":
            path = tmp_path / what
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + "\n", "utf-8")
    assert flowx("build").returncode == 0
    author = ("git", "-c", "user.name=A", "-c", "user.email=a@example.com")
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "Hold parcels")):
        assert run(*author, *command).returncode == 0
    parked = flowx("run", "parcel.hold", "--input", '{"number": "p-1"}')
    assert parked.stdout.startswith("suspended"), parked.stderr

    source = (tmp_path / "post/flows.py").read_text("utf-8")
    lines = BLOCKS["edit", "reminder"].splitlines()
    old = "\n".join(line[1:] for line in lines if line.startswith("-"))
    new = "\n".join(line[1:] for line in lines if line.startswith("+"))
    assert old in source
    changed = source.replace(old, new)
    (tmp_path / "post/flows.py").write_text(changed, "utf-8")
    refused = flowx("build")
    assert refused.stdout.strip() == BLOCKS["output of", "flowx build"]

    (tmp_path / "post/flows.py").write_text(changed.replace('version="1.0.0", profile', 'version="1.1.0", profile'))
    assert flowx("build").returncode == 0
    plans = sorted(path.name for path in (tmp_path / "post/plans").glob("*.py"))
    assert plans == BLOCKS["output of", "ls post/plans"].splitlines()

    _, *arguments = BLOCKS["command", "prune"].split()
    pruned = flowx(*arguments)
    said = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "<id>", pruned.stderr.strip())
    assert said == BLOCKS["output of", "flowx build --prune"]
    instance_id = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", parked.stdout)
    assert instance_id is not None
    assert flowx("cancel", instance_id[0]).returncode == 0
    assert flowx(*arguments).returncode == 0


@pytest.mark.slow  # flowx is a process
def test_a_claim_waits_through_a_change_of_what_its_plan_reads(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}

    def build() -> subprocess.CompletedProcess[str]:
        command = (sys.executable, "-m", "flowx_cli", "build")
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    flows = tmp_path / "claims/flows.py"
    flows.parent.mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.flowx]\nsources = ["claims"]\nplans = "claims.plans"\n')
    source = BLOCKS["file", "claims/flows.py"] + "\n"
    flows.write_text(source, "utf-8")
    assert build().returncode == 0

    newer = source.replace('"claim.settle", version="1.0.0"', '"claim.settle", version="1.1.0"')
    flows.write_text(newer.replace("LIMIT: Final = 100", "LIMIT: Final = 200"), "utf-8")
    assert build().stdout.strip() == BLOCKS["output of", "flowx build with another limit"]

    lines = BLOCKS["edit", "limit"].splitlines()
    old = "\n".join(line[1:] for line in lines if line.startswith("-"))
    new = "\n".join(line[1:] for line in lines if line.startswith("+"))
    assert old in newer
    flows.write_text(newer.replace(old, new).replace("> LIMIT", "> LIMIT_1_1"), "utf-8")
    assert build().returncode == 0
    assert (tmp_path / "claims/plans/claim_settle_v1_0_0.py").exists()
