"""Every benchmark runs, and what is the same on every machine holds. Nothing here says how fast anything is."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from benchmarks import compile as compiling
from benchmarks import diff, lone_flow, resume, throughput
from benchmarks.__main__ import PARTS, main, measure
from benchmarks.runtime.figure import Figure, at_least, at_most, beside, percentile
from benchmarks.runtime.sizes import TINY
from benchmarks.runtime.table import table
from tests.docs.test_comparison_page import lines_shown, without_numbers


@pytest.fixture(autouse=True)
def _on_the_tests_server(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWX_DSN", postgres_dsn)


@pytest.mark.slow  # starts workers, and kills one
async def test_every_part_gives_figures_and_counts_hold() -> None:
    counted = {
        "rows per parked instance": 1,
        "leases of parked instances": 0,
    }
    seen: dict[str, Figure] = {}
    for part in PARTS:
        figures, _ = await measure([part], replace(TINY, seconds=0.02), with_peer=False)
        assert figures, part
        seen |= {figure.what: figure for figure in figures}
    assert {what: seen[what].measured for what in counted} == counted
    assert all(figure.measured >= 0 for figure in seen.values() if figure.unit != "us")
    assert all(line in table(seen.values()) for line in seen)
    assert {without_numbers(what) for what in seen} <= lines_shown()


def test_the_command_prints_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--tiny", "--json", "--no-peer", "--only", "lone"])
    try:
        main()
    except SystemExit as left:
        assert left.code == 1  # noqa: PT017  a bar was missed
    found = json.loads(capsys.readouterr().out)
    assert [figure["unit"] for figure in found["figures"]] == ["ms"]
    assert "fsync" in found["about"]["PostgreSQL"]


async def test_the_single_ones_run(postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resume, "SIZES", (5, 10))
    bare, flows, _ = await throughput.measure(postgres_dsn, concurrency=2, seconds=0.02, turns=1)
    assert bare[0] > 0
    assert flows[0] > 0
    monkeypatch.setattr(lone_flow, "WARM_UP", 1)
    assert [len(found) for found in (await lone_flow.measure(postgres_dsn, 2))[:2]] == [2, 2]
    await resume.measure(postgres_dsn, 1)


@pytest.mark.slow  # starts interpreters
@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        (compiling, ["--no-mypy", "--files", "6", "--flows", "2", "--runs", "1"]),
        (diff, ["--flows", "4", "--contracts", "6", "--runs", "1"]),
    ],
)
def test_those_of_the_compiler_run(module, arguments, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", [module.__name__, *arguments])
    try:
        module.main()
    except SystemExit as left:
        assert left.code == 1  # noqa: PT017  a bar was missed
    assert " s" in capsys.readouterr().out


def test_a_bar_is_held_at_its_limit_and_not_beyond() -> None:
    assert [at_least("a", value, 3, "/s").verdict for value in (2.9, 3, 4)] == ["MISSED", "ok", "ok"]
    assert [at_most("a", value, 3, "ms").verdict for value in (2.9, 3, 3.1)] == ["ok", "ok", "MISSED"]


def test_a_ratio_is_the_median_of_the_turns_ratios() -> None:
    """A turn on a machine that was busy slows both: what they are to each other stays."""
    found = beside("other", [10, 1, 30], [5, 0.5, 10])
    assert (found.measured, found.ratio) == (5, 2)
    assert percentile(list(range(1, 101)), 99) == 100
    assert percentile([7], 50) == 7
