"""Whose turn it is, where several things could go on at once: the same every time, or as a seed draws it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from flowx_runtime.testing.ledger import Boundary
from flowx_runtime.testing.node import Node, NoInterrupts

_STALL: Final = 0.15
"""How likely a worker is stopped before what it is about to do, for so long that its leases run out."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that is about to be done."""

    node: Node
    what: str
    arrived: int
    may_go_on: asyncio.Future[None]


class InTurn(NoInterrupts):
    """One thing at a time, in the order they came: on every store the same one."""

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []
        self._arrived = 0

    async def turn(self, node: Node, what: str) -> None:
        self._arrived += 1
        waiting = Waiting(node, what, self._arrived, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        node.beat()
        await waiting.may_go_on

    async def give_turn(self, host: Any) -> bool:
        self._waiting = [each for each in self._waiting if not (each.may_go_on.done() or each.node.is_dead)]
        if not self._waiting:
            return False
        await self._give(host)
        return True

    async def _give(self, host: Any) -> None:
        self._waiting[0].may_go_on.set_result(None)


class KillAt(InTurn):
    """Kills the node at one write."""

    def __init__(self, number: int, *, is_done: bool) -> None:
        super().__init__()
        self._at = (number, is_done)

    def kills(self, boundary: Boundary, *, is_done: bool) -> bool:
        return (boundary.number, is_done) == self._at


class SeededTurns(InTurn):
    """One thing at a time, whose turn it is being drawn; a worker may lose its leases meanwhile."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = Random(seed)

    def pick(self, nodes: Sequence[Node]) -> Node:
        return self._random.choice(nodes)

    async def _give(self, host: Any) -> None:
        self._waiting.sort(key=lambda each: (each.node.number, each.what, each.arrived))
        chosen = self._random.choice(self._waiting)
        others = [other for other in host.nodes if other is not chosen.node]
        if others and chosen.node.tokens and self._random.random() < _STALL:
            await host.lose_leases(chosen.node)
            host.sweep_on(self._random.choice(others))
        else:
            chosen.may_go_on.set_result(None)
