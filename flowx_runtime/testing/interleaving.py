"""Runs a scenario with everything that could happen in another order happening in orders that a seed chooses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowx_runtime.plan.plan import Plan
from flowx_runtime.testing.builder import TestHostBuilder, flow_host
from flowx_runtime.testing.crashes import Scenario, Told, compare, pass_through
from flowx_runtime.testing.errors import Interrupted
from flowx_runtime.testing.surroundings import SURROUNDINGS
from flowx_runtime.testing.turns import SeededTurns

__tracebackhide__ = True  # a failed test shows its own lines


async def interleave(
    flow: Plan[Any, Any] | TestHostBuilder, scenario: Scenario, *, seeds: int | Iterable[int] = 25, workers: int = 2
) -> dict[int, Told]:
    """Hold a scenario to ending the same in whatever order its parts come.

    Each seed draws who goes on at every call and every write: which of two waits, signals, branches or workers is
    first. A worker may also be stopped for so long that another takes its instance; what it writes then is refused.

    Args:
        flow: a plan, or a builder whose capabilities are made by a function.
        scenario: what is done to each host. Signals that come at one instant are set by `signal_at`.
        seeds: how many, or which. `pytest --flowx-seed=N` runs that one alone.
        workers: how many hosts share the work.

    Raises:
        Interrupted: a seed went another way; the message names it.
    """
    builder = flow if isinstance(flow, TestHostBuilder) else flow_host(flow)
    undisturbed = await pass_through(builder, scenario, "undisturbed")
    only = SURROUNDINGS.only_seed
    chosen = [only] if only is not None else range(seeds) if isinstance(seeds, int) else seeds
    passes: dict[int, Told] = {}
    for seed in chosen:
        what = f"interleaved by seed {seed}"
        try:
            told = await pass_through(builder, scenario, what, SeededTurns(seed), workers=workers)
            compare(builder, undisturbed, told, what)
        except Interrupted as found:
            raise Interrupted(f"{found}\nRun it alone with `pytest --flowx-seed={seed}`.") from found.__cause__
        passes[seed] = told
    return passes
