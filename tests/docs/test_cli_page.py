"""The page on the command line: its verbs are those there are, and its session is one."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from flowx_cli.__main__ import _COMMANDS
from tests.docs.test_readme import BLOCK, ROOT

PAGE = (ROOT / "docs/cli.md").read_text("utf-8")
BLOCKS = [(match["kind"], match["what"] or "", match["text"]) for match in BLOCK.finditer(PAGE)]
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


@pytest.fixture
def database(postgres_dsn: str):
    """A database of the page's own: what it lists is what it made."""
    name = f"page_{uuid4().hex}"
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield make_conninfo(postgres_dsn, dbname=name)
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def test_the_verbs_are_those_there_are() -> None:
    assert set(re.findall(r"^\| `flowx (\w+)", PAGE, re.MULTILINE)) == set(_COMMANDS)


@pytest.mark.slow  # a command after another
def test_the_session_goes_as_shown(tmp_path: Path, database: str) -> None:
    instance = ""
    for kind, what, text in BLOCKS:
        if kind == "file":
            (tmp_path / what).parent.mkdir(exist_ok=True)
            (tmp_path / what).write_text(text + "\n", "utf-8")
            continue
        assert kind == "session"
        for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, shown = step.partition("\n")
            said = spoken(re.sub(UUID, instance, command), tmp_path, database)
            assert steady(said) == steady(shown), command
            found = re.search(UUID, said)
            instance = found[0] if found else instance


def spoken(command: str, folder: Path, database: str) -> str:
    words = shlex.split(command)
    settings = dict(word.split("=", 1) for word in words[: words.index("flowx")])
    ran = subprocess.run(
        [sys.executable, "-m", "flowx_cli", *words[words.index("flowx") + 1 :]],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "FLOWX_DSN": database} | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout or ran.stderr


def steady(text: str) -> str:
    """The text without what differs from run to run: ids, instants and how long something took."""
    text = re.sub(UUID, "<id>", text)
    text = re.sub(r"\b[0-9a-f]{32}\b", "<delivery>", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "<instant>", text)
    text = re.sub(r"\d\d:\d\d:\d\d", "<time>", text)
    text = re.sub(r" +\d+ ms", " <took>", text)
    text = re.sub(r"\d+ (s|min)\b", "<span>", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
