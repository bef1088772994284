"""Every command and code block of the README is run, and shows what it says it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(
    r"<!-- (?P<kind>[\w ]+?)(?:: (?P<what>[^>]+?))? -->\n```(?P<language>\w+)\n(?P<text>.*?)\n```", re.DOTALL
)


@dataclass(frozen=True)
class Block:
    kind: str
    what: str
    text: str


def blocks() -> list[Block]:
    return [
        Block(match["kind"], match["what"] or "", match["text"]) for match in BLOCK.finditer(README.read_text("utf-8"))
    ]


def block(kind: str, what: str) -> str:
    (found,) = [item.text for item in blocks() if (item.kind, item.what) == (kind, what)]
    return found


def flowx(*arguments: str, cwd: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "flowx_cli", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False).stdout


def steady(text: str) -> str:
    """The text without what differs from run to run: ids, instants, seconds, and how many attempts a draw made."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00:00", "<instant>", text)
    text = re.sub(r"after \d+\.\d s", "after <time>", text)
    text = re.sub(r"(      \d+ \| 2 \| ocr\.status .*\n)+", "<attempts>\n", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def test_every_block_is_marked() -> None:
    assert README.read_text("utf-8").count("```") == 2 * len(blocks())


def test_the_flow_is_the_example_s_own() -> None:
    source = (ROOT / "examples/polling/polling/flows.py").read_text("utf-8")
    assert block("part of", "examples/polling/polling/flows.py") in source


@pytest.mark.slow  # starts a PostgreSQL and waits as the demo waits
def test_the_demo_shows_what_the_readme_shows(tmp_path: Path) -> None:
    shown = block("output of", "flowx demo polling")
    assert steady(flowx("demo", "polling", cwd=tmp_path)) == steady(shown)


def test_the_refused_flow_is_refused_with_the_words_shown(tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text(block("file", "orders.py") + "\n", "utf-8")
    shown = block("output of", "flowx check orders.py")
    assert flowx("check", "orders.py", cwd=tmp_path).strip() == shown.strip()


@pytest.mark.slow  # starts a PostgreSQL
def test_the_project_builds_and_runs_as_shown(tmp_path: Path, postgres_dsn: str) -> None:
    for name in ("pyproject.toml", "greetings/flows.py", "service.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(block("file", name) + "\n", "utf-8")
    output = ""
    for line in block("run", "greetings").splitlines():
        verb, *arguments = shlex.split(line)
        assert verb == "flowx"
        # The README's reader has no server; the tests have one already.
        output += flowx(*arguments, *(["--dsn", postgres_dsn] if arguments[0] == "run" else []), cwd=tmp_path)
    assert steady(output) == steady(block("output of", "greetings"))
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{tmp_path}", "FLOWX_DSN": postgres_dsn}
    run = subprocess.run(
        [sys.executable, "service.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == block("output of", "service.py"), run.stderr
    for item in blocks():
        if item.kind == "sql":
            with psycopg.connect(postgres_dsn) as connection:
                connection.execute(item.text.encode())


def test_the_commands_name_extras_that_exist() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert "'.[embedded]'" in block("command", "demo")
    assert "'.[dev]'" in block("command", "test")
    assert {"embedded", "dev"} <= extras.keys()
