"""Three workers under load, one of them killed again and again: the long form is `benchmarks/soak.py`."""

from __future__ import annotations

import pytest

from benchmarks.soak import Soak


@pytest.mark.slow  # a load for some seconds, and eight processes
async def test_p15_p18_p19_killed_workers_lose_nothing_leave_nothing_and_repeat_only_what_they_had_in_hand(
    postgres_dsn: str, schema: str
) -> None:
    soak = Soak(postgres_dsn, schema, sweep_seconds=1.0, seed=7)
    figures = await soak.run(seconds=8.0, kill_every=1.6, rate=12.0)
    assert figures.broken == []
    assert (figures.kills, figures.restarts) == (4, 1)
    assert figures.occurrences >= 80
