"""Pairs the steps of two versions of a flow that are meant to be one step."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeAlias

from flowx_compiler.diff.document import Step
from flowx_compiler.diff.waits import all_steps

Key: TypeAlias = Callable[[Step], Hashable]


def pair_steps(old: Iterable[Step], new: Iterable[Step], kind: str, keys: Iterable[Key]) -> list[tuple[Step, Step]]:
    """Steps of one kind, paired by each key in turn; steps of one key in the order they are written.

    A step's place says nothing: steps are moved and put behind conditions all the time.
    """
    before = [step for step in all_steps(old) if step.kind == kind]
    after = [step for step in all_steps(new) if step.kind == kind]
    pairs: list[tuple[Step, Step]] = []
    for key in keys:
        waiting: dict[Hashable, list[Step]] = {}
        for step in after:
            waiting.setdefault(key(step), []).append(step)
        left: list[Step] = []
        for step in before:
            matches = waiting.get(key(step))
            if matches:
                pairs.append((step, matches.pop(0)))
            else:
                left.append(step)
        before = left
        taken = {id(partner) for _, partner in pairs}
        after = [step for step in after if id(step) not in taken]
    return pairs


def inside(step: Step) -> tuple[str, ...]:
    """What a step's branches call, emit, compose and wait for: the identity of a fork without a name."""
    parts: set[str] = set()
    for branch in step.branches:
        for inner in all_steps(branch):
            parts |= {inner.capability.partition("@")[0], inner.flow, inner.signal}
    return tuple(sorted(parts - {""}))
