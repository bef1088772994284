"""What the tests of this process run in; the pytest plugin sets it, and without one it is memory alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowx_runtime.testing.flow_test_host import FlowTestHost
    from flowx_runtime.testing.stores import Store


def _in_memory(now: Callable[[], datetime]) -> Store:
    from flowx_runtime.testing.stores import MemoryStore

    return MemoryStore(now)


def _nothing() -> Iterable[Any]:
    return ()


@dataclass(slots=True)
class Surroundings:
    """Where hosts keep their instances, and what they are given where a test says nothing."""

    open_store: Callable[[Callable[[], datetime]], Store] = _in_memory
    capabilities: Callable[..., Iterable[Any]] = _nothing
    """The application's own capabilities, for what a test does not substitute."""
    only_seed: int | None = None
    """Of all seeds of an interleaving, the one to run."""
    hosts: list[FlowTestHost] = field(default_factory=list)
    """The hosts that the present test has built."""


SURROUNDINGS = Surroundings()
