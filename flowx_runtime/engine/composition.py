"""Forks and loops: walks of their own over spans of the plan, each with its own overlay, joined in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from flowx_runtime.authoring.merge import Merge
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine import failures
from flowx_runtime.engine.failures import FlowFailure, failure
from flowx_runtime.engine.frame import Frame, Moved, Waits
from flowx_runtime.engine.side_by_side import Ending, Tally, Walk, side_by_side
from flowx_runtime.journal.records import RowOutcome, StepRow, Wait
from flowx_runtime.plan.nodes import ForEach, Parallel

if TYPE_CHECKING:
    from flowx_runtime.engine.bag import Bag
    from flowx_runtime.engine.session import Session
    from flowx_runtime.engine.walker import Walker

JOINED: Final = "flow.joined"
"""Capability id of the row by which a fork that does not need every branch says which ones it took."""


_OF_THE_WHOLE_FLOW = frozenset({failures.CANCELLED, failures.DEADLINE_EXCEEDED})


async def parallel(walker: Walker, frame: Frame, node: Parallel) -> Moved:
    """Run the branches of a fork to its join."""
    spans = tuple(pairwise((*node.branches, node.join)))
    joined = walker.session.done.get((frame.scope, node.index))
    if joined is not None and joined.result is not None:
        # Branches that were cancelled must not go on now: only those that were taken are passed again.
        taken = [int(branch) for branch in json.loads(joined.result)]
        for branch in taken:
            overlay = frame.bag.overlay()
            await walker.walk(Frame(frame.scope, overlay), *spans[branch])
            frame.bag.merge(overlay)
        return node.join
    overlays = [frame.bag.overlay() for _ in spans]
    walks = [
        partial(walker.walk, Frame(frame.scope, overlay), *span) for overlay, span in zip(overlays, spans, strict=True)
    ]
    needed = _needed(node.merge, len(spans))
    endings = await _run(
        walker.session, walks, limit=len(spans), is_decided=partial(_is_fork_decided, node.merge, needed, len(spans))
    )
    walker.check_cancelled()  # what a merge forgives its branches, it does not forgive a cancelled flow
    succeeded = sorted(branch for branch, ending in endings.items() if ending == ())
    _keep_failures(walker.session, endings, all_but_first=node.merge == Merge.ALL_MUST_SUCCEED)
    failed = [ending for ending in endings.values() if isinstance(ending, FlowFailure)]
    if node.merge == Merge.ALL_MUST_SUCCEED and failed:
        raise failed[0]
    if len(failed) > len(spans) - needed:
        raise failure(
            failures.MERGE_NOT_SATISFIED,
            Category.UNAVAILABLE,
            f"the fork needs {needed} of {len(spans)} branches; {len(succeeded)} succeeded, {len(failed)} failed",
        )
    if len(succeeded) < needed or (node.merge == Merge.ALL_SETTLED and len(succeeded) + len(failed) < len(spans)):
        return _waits(endings)
    for branch in succeeded:
        frame.bag.merge(overlays[branch])
    if node.merge not in (Merge.ALL_MUST_SUCCEED, Merge.ALL_SETTLED):
        walker.record(frame, node, JOINED, result=json.dumps(succeeded))
    return node.join


async def for_each(walker: Walker, frame: Frame, node: ForEach) -> Moved:
    """Run the body once per element; its products are joined in element order."""
    elements = walker.ask(lambda bag: tuple(node.selector(bag)), frame.bag, failures.SELECTOR_FAILED)
    overlays: list[Bag] = []
    walks: list[Walk] = []
    for position, element in enumerate(elements):
        # The element is seen by its own body only: it lies below the overlay that is merged.
        given = frame.bag.overlay()
        given.put(node.item, element)
        overlays.append(given.overlay())
        walks.append(partial(walker.walk, Frame(frame.inner(position), overlays[-1]), node.index + 1, node.join))
    endings = await _run(
        walker.session,
        walks,
        limit=node.max_concurrency,
        is_decided=lambda tally: not node.continue_on_error and tally.failed > 0,
    )
    _keep_failures(walker.session, endings, all_but_first=not node.continue_on_error)
    walker.check_cancelled()
    failed = [ending for ending in endings.values() if isinstance(ending, FlowFailure)]
    if failed and not node.continue_on_error:
        raise failed[0]
    waits = _waits(endings)
    if waits:
        return waits
    frame.bag.merge_elements([overlays[position] for position in sorted(endings) if endings[position] == ()])
    return node.join


async def _run(
    session: Session, walks: Sequence[Walk], *, limit: int, is_decided: Callable[[Tally], bool]
) -> dict[int, Ending]:
    before = session.overlapping
    session.overlapping = before or limit > 1
    try:
        return await side_by_side(walks, limit=limit, is_decided=is_decided)
    finally:
        session.overlapping = before


def _needed(merge: Merge, branches: int) -> int:
    if merge == Merge.ALL_SETTLED:
        return 0
    if merge == Merge.FIRST_SUCCESS:
        return 1
    return branches if merge.needed is None else merge.needed


def _is_fork_decided(merge: Merge, needed: int, branches: int, tally: Tally) -> bool:
    if merge == Merge.ALL_SETTLED:
        return False
    return tally.failed > branches - needed or (tally.succeeded >= needed and merge != Merge.ALL_MUST_SUCCEED)


def _keep_failures(session: Session, endings: Mapping[int, Ending], *, all_but_first: bool) -> None:
    """A failure that does not end the flow here is a row all the same, or a resume would try again."""
    failed = [ending for ending in endings.values() if isinstance(ending, FlowFailure)]
    for ending in failed[1:] if all_but_first else failed:
        if ending.row is not None:
            session.record(ending.row, taken=ending.taken)
            ending.row = None
        elif ending.at not in (None, *session.failed) and ending.error.code not in _OF_THE_WHOLE_FLOW:
            session.record(_row_of(session, ending))


def _row_of(session: Session, failed: FlowFailure) -> StepRow:
    """The row of a node that failed without one: a wait that ran out would else be opened anew."""
    assert failed.at is not None
    scope, index = failed.at
    return StepRow(
        scope=scope,
        step_id=index,
        attempt=session.attempt_after(failed.at),
        capability_id="",
        outcome=RowOutcome.FAILURE,
        error=failed.error,
    )


def _waits(endings: Mapping[int, Ending]) -> Waits:
    waits: list[Wait] = []
    for position in sorted(endings):
        ending = endings[position]
        if not isinstance(ending, FlowFailure):
            waits.extend(ending)
    return tuple(waits)
