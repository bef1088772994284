"""Runs a scenario with everything that could happen in another order happening in orders that a seed chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Final

from flowx_runtime.plan.plan import Plan
from flowx_runtime.testing.builder import TestHostBuilder, flow_host
from flowx_runtime.testing.crashes import Scenario, Told, compare, pass_through
from flowx_runtime.testing.errors import Interrupted
from flowx_runtime.testing.ledger import Boundary
from flowx_runtime.testing.node import Node
from flowx_runtime.testing.surroundings import SURROUNDINGS

__tracebackhide__ = True  # a failed test shows its own lines

_STALL: Final = 0.15
"""How likely a worker is stopped before what it is about to do, for so long that its leases run out."""


class SeededTurns:
    """One thing at a time, whose turn it is being drawn."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._waiting: list[tuple[int, str, int, Node, asyncio.Future[None]]] = []
        self._asked = 0

    def kills(self, boundary: Boundary, *, is_done: bool) -> bool:
        return False

    async def turn(self, node: Node, what: str) -> None:
        self._asked += 1
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((node.number, what, self._asked, node, given))
        node.beat()
        await given

    async def give_turn(self, host: Any) -> bool:
        self._waiting = [each for each in self._waiting if not each[-1].done()]
        if not self._waiting:
            return False
        self._waiting.sort(key=lambda each: each[:3])
        position = self._random.randrange(len(self._waiting))
        *_, node, given = self._waiting[position]
        others = [other for other in host.nodes if other is not node]
        if others and node.tokens and self._random.random() < _STALL:
            await host.lose_leases(node)
            host.sweep_on(self._random.choice(others))
            return True
        given.set_result(None)
        return True

    def pick(self, nodes: Sequence[Node]) -> Node:
        return self._random.choice(nodes)


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
