"""The signals a flow waits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flowx_compiler.diff.document import Step


def all_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """Every step, outer before inner, in the order they are written."""
    for step in steps:
        yield step
        for branch in step.branches:
            yield from all_steps(branch)


def awaited(steps: Iterable[Step]) -> dict[str, str]:
    """The declared wait of each awaited signal; of two waits the first counts: a delivery satisfies it."""
    found: dict[str, str] = {}
    for step in all_steps(steps):
        if step.signal:
            found.setdefault(step.signal, step.timeout)
    return found
