"""What a history may hold that no replay passes: branches a fork did without, and waits that are over already."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import Any

from flowx_runtime.engine.session import Key
from flowx_runtime.journal.records import StepRow, Wait
from flowx_runtime.plan.nodes import Parallel, Poll
from flowx_runtime.plan.plan import Plan


def is_forgone(plan: Plan[Any, Any], row: StepRow, joined: Iterable[StepRow]) -> bool:
    """Whether a row was left by a branch that its fork, which needed only some, did without.

    Args:
        plan: the plan of the instance.
        row: the row in question.
        joined: the rows by which forks say which branches they took.
    """
    for join in joined:
        fork = plan.nodes[join.step_id]
        if not isinstance(fork, Parallel) or join.result is None or not _is_inside(row.scope, join.scope):
            continue
        spans = pairwise((*fork.branches, fork.join))
        taken = json.loads(join.result)
        if any(start <= row.step_id < end and branch not in taken for branch, (start, end) in enumerate(spans)):
            return True
    return False


def waits_that_are_over(plan: Plan[Any, Any], waits: Iterable[Wait], done: Collection[Key]) -> frozenset[Key]:
    """The recorded waits that have a row since: an instance with several stays parked on all while it goes on."""
    return frozenset(
        (wait.scope, wait.step_id)
        for wait in waits
        if (wait.scope, wait.step_id) in done
        or (isinstance(plan.nodes[wait.step_id], Poll) and _next_attempt(wait) in done)
    )


def _next_attempt(wait: Wait) -> Key:
    outer, _, attempt = wait.scope.rpartition("/")
    following = str(int(attempt) + 1) if attempt.isdigit() else "0"
    return f"{outer}/{following}" if outer else following, wait.step_id + 1


def _is_inside(scope: str, outer: str) -> bool:
    return not outer or scope == outer or scope.startswith(f"{outer}/")
