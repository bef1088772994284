"""Which steps of a plan may be under way at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from flowx_runtime.plan.nodes import ForEach, Parallel, Poll
from flowx_runtime.plan.plan import Plan


def overlaps(plan: Plan[Any, Any]) -> bool:
    """Whether any of its steps may be under way beside another."""
    return any(
        isinstance(node, Parallel) or (isinstance(node, ForEach) and node.max_concurrency > 1) for node in plan.nodes
    )


def may_overlap(plan: Plan[Any, Any], one: tuple[int, str], other: tuple[int, str]) -> bool:
    """Whether two steps, each a node and a scope, lie in different branches of a fork or elements of a loop."""
    (first, first_scope), (second, second_scope) = one, other
    loops_outside = 0
    for node in plan.nodes:
        match node:
            case Parallel():
                spans = list(pairwise((*node.branches, node.join)))
                branches = [_span_of(spans, first), _span_of(spans, second)]
                if None not in branches and branches[0] != branches[1]:
                    return True
            case ForEach() if node.index < first < node.join and node.index < second < node.join:
                elements = [
                    scope.split("/")[loops_outside : loops_outside + 1] for scope in (first_scope, second_scope)
                ]
                if elements[0] != elements[1]:
                    return node.max_concurrency > 1
                loops_outside += 1
            case Poll():
                continue
    return False


def names_of(plan: Plan[Any, Any]) -> Iterator[str]:
    """What a test may call the steps of a plan: names, and ids of capabilities and signals."""
    for node in plan.nodes:
        parts = [getattr(node, part, None) for part in ("capability", "compensation", "signal")]
        yield from filter(None, (getattr(node, "name", ""), *(part.id for part in parts if part is not None)))


def _span_of(spans: list[tuple[int, int]], index: int) -> int | None:
    return next((number for number, (start, end) in enumerate(spans) if start <= index < end), None)
