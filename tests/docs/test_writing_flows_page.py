"""The page on writing flows: what it shows builds, runs, and leaves out no construct."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from flowx_runtime.authoring.builder import FlowBuilder
from flowx_runtime.authoring.policies import PolicySet
from tests.docs.test_readme import BLOCK, ROOT

PAGE = (ROOT / "docs/writing-flows.md").read_text("utf-8")
BLOCKS = [(match["kind"], match["what"], match["text"]) for match in BLOCK.finditer(PAGE)]


def flowx(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flowx_cli", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_what_it_shows_builds_and_nothing_is_found(tmp_path: Path) -> None:
    for kind, what, text in BLOCKS:
        if kind == "file":
            path = tmp_path / what
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + "\n", "utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.flowx]\nsources = ["shop"]\nplans = "shop.plans"\n', "utf-8")
    built = flowx("build", cwd=tmp_path)
    assert built.stdout.strip() == next(text for kind, _, text in BLOCKS if kind == "output of")
    manifest = json.loads((tmp_path / "flowx.manifest.json").read_text("utf-8"))
    kinds = set(re.findall(r'"kind": "(\w+)"', json.dumps(manifest["flows"])))
    assert kinds >= {"Capability", "AwaitSignal", "Switch", "ForEach", "Parallel", "Poll", "SubFlow", "Emit", "Fail"}


def test_no_construct_and_no_policy_is_left_out() -> None:
    table = "".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    for name in vars(FlowBuilder):
        if not name.startswith("_"):
            assert f".{name}(" in table, name
    for name in PolicySet.__dataclass_fields__:
        if name != "name":
            assert re.search(rf"`{name}=", table), name
