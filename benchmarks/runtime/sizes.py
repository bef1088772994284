"""How much of everything a run does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Size:
    """One run's numbers."""

    turns: int
    """How often what is measured and its references take turns."""
    seconds: float
    """How long a turn of each takes."""
    lone: int
    """Flows, one after the other."""
    parked: int
    parked_by_peer: int
    """Instances that a peer parks, which takes it far longer each."""
    signalled: int
    spread: int
    """Instances that fall due one after the other."""
    idle: float
    """Seconds to look at a node with nothing to do."""
    kills: int
    imports: int
    passes: int
    """Runs of an ephemeral flow."""
    looking_around: float = 2.0
    """Seconds between two looks of a node at its peers; the default of a host."""


FULL: Final = Size(
    turns=7,
    seconds=2.0,
    lone=500,
    parked=100_000,
    parked_by_peer=2_000,
    signalled=500,
    spread=1_000,
    idle=20.0,
    kills=5,
    imports=9,
    passes=300,
)
QUICK: Final = replace(
    FULL,
    turns=3,
    seconds=0.6,
    lone=100,
    parked=10_000,
    parked_by_peer=200,
    signalled=100,
    spread=300,
    idle=5.0,
    kills=2,
    imports=5,
    passes=100,
)
TINY: Final = Size(
    turns=1,
    seconds=0.05,
    lone=2,
    parked=20,
    parked_by_peer=5,
    signalled=3,
    spread=5,
    idle=0.2,
    kills=1,
    imports=1,
    passes=2,
    looking_around=0.1,
)
"""Enough to see that everything runs; says nothing about anything."""
