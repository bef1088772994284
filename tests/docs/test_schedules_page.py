"""Every block of the page on schedules is run, and shows what it says it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from flowx_runtime import FlowxError, PostgresJournal
from flowx_runtime.plan import Schedule
from flowx_runtime.scheduler.cron.decisions import Scheduled
from tests.docs.test_readme import BLOCK, ROOT, flowx

PAGE = (ROOT / "docs/schedules.md").read_text("utf-8")
BLOCKS = {(match["kind"], match["what"] or ""): match["text"] for match in BLOCK.finditer(PAGE)}


def test_every_block_is_marked() -> None:
    assert PAGE.count("```") == 2 * len(BLOCKS)


@pytest.mark.slow  # starts processes
def test_the_nightly_report_builds_and_fires_as_shown(tmp_path: Path) -> None:
    for (kind, name), text in BLOCKS.items():
        if kind == "file":
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + "\n", "utf-8")
    assert "nothing found in 1 flow" in flowx("build", cwd=tmp_path)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{tmp_path}"}
    run = subprocess.run(
        [sys.executable, "try_it.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.stdout.strip() == BLOCKS["output of", "try_it.py"], run.stderr


async def test_the_query_reads_what_the_journal_has(postgres_dsn: str, schema: str) -> None:
    await (await PostgresJournal.open(postgres_dsn, schema=schema)).close()
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute(BLOCKS["sql", ""].replace("flowx.", f"{schema}.").encode())


def test_the_refusal_is_the_one_shown() -> None:
    with pytest.raises(FlowxError) as refused:
        Scheduled.of("report.nightly", "1.0.0", Schedule(cron="30 2 * * *", time_zone="Europe/Berlyn"))
    assert f"{refused.value.code}: {refused.value}" == BLOCKS["output of", "wrong zone"]
