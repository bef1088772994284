"""Runs a scenario once, and again for every write of it with the host killed just before and just after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from flowx_runtime.authoring.errors import said_by
from flowx_runtime.plan.plan import Plan
from flowx_runtime.testing.builder import TestHostBuilder, flow_host
from flowx_runtime.testing.errors import Interrupted
from flowx_runtime.testing.flow_test_host import FlowTestHost
from flowx_runtime.testing.ledger import Boundary
from flowx_runtime.testing.node import Interrupts
from flowx_runtime.testing.places import overlaps
from flowx_runtime.testing.trace import Trace, TraceRow
from flowx_runtime.testing.turns import KillAt

__tracebackhide__ = True  # a failed test shows its own lines

Scenario: TypeAlias = Callable[[FlowTestHost], Awaitable[object]]
"""What a test does to a host: start, advance, signal. It may assert; what it asserts must hold after a crash too."""

_SHOWN: Final = 6
"""Differences of each kind that are printed."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one pass through a scenario came to."""

    traces: tuple[Trace, ...]
    boundaries: tuple[Boundary, ...]
    calls: int


@dataclass(frozen=True, slots=True)
class Crashes:
    """Every pass that `crash_everywhere` made; all of them came to the same."""

    undisturbed: Told
    passes: dict[str, Told] = field(default_factory=dict)
    """By where the host was killed."""

    @property
    def boundaries(self) -> int:
        """The writes of the undisturbed run."""
        return len(self.undisturbed.boundaries)


async def crash_everywhere(
    flow: Plan[Any, Any] | TestHostBuilder, scenario: Scenario, *, where: Callable[[Boundary], bool] | None = None
) -> Crashes:
    """Hold a scenario to ending the same wherever its host dies.

    After a crash another host takes over at once, as it does on PostgreSQL when a process dies. Each pass must come
    to the same outcome, rows, waits and events. No effect may be lost, and none repeated but for the documented
    window: an effect that was there before its row was written.

    Args:
        flow: a plan, or a builder whose capabilities are made by a function, so that each pass has its own world.
        scenario: what is done to each host.
        where: the writes to kill at; every one, unless it says otherwise.

    Raises:
        Interrupted: a pass went another way; the message says where the host was killed and what differs.
    """
    builder = flow if isinstance(flow, TestHostBuilder) else flow_host(flow)
    undisturbed = await pass_through(builder, scenario, "undisturbed")
    found = Crashes(undisturbed)
    for boundary in filter(where, undisturbed.boundaries):
        for is_done in (False, True):
            what = f"killed just {'after' if is_done else 'before'} {boundary}"
            told = await pass_through(builder, scenario, what, KillAt(boundary.number, is_done=is_done))
            compare(builder, undisturbed, told, what)
            found.passes[what] = told
    return found


async def pass_through(
    builder: TestHostBuilder, scenario: Scenario, what: str, interrupts: Interrupts | None = None, *, workers: int = 1
) -> Told:
    """One pass through a scenario on a host of its own.

    Raises:
        Interrupted: it came to an error, or to something that no run may do.
    """
    host = replace(builder, interrupts=interrupts, workers=workers).build()
    try:
        await scenario(host)
    except Exception as error:
        _refuse(host, what)
        if interrupts is None:
            raise
        raise Interrupted(f"{host.plan.flow_id}, {what}, raised {type(error).__name__}: {said_by(error)}") from error
    else:
        told = Told(
            tuple(run.trace for run in (*host.runs, *host.started_by_themselves)),
            tuple(host.ledger.boundaries),
            len(host.calls),
        )
    finally:
        await host.close()
    _refuse(host, what)
    return told


def _refuse(host: FlowTestHost, what: str) -> None:
    if host.ledger.wrong:
        said = "\n".join(f"  {each}" for each in host.ledger.wrong[:_SHOWN])
        raise Interrupted(f"{host.plan.flow_id}, {what}, did what no run may do:\n{said}")


def compare(builder: TestHostBuilder, undisturbed: Told, told: Told, what: str) -> None:
    """Hold one pass against the undisturbed one.

    Raises:
        Interrupted: they differ.
    """
    is_ordered = not any(map(overlaps, builder.plans))
    if len(undisturbed.traces) != len(told.traces):
        raise Interrupted(f"{what}, {len(told.traces)} flows were started, and {len(undisturbed.traces)} undisturbed")
    for expected, got in zip(undisturbed.traces, told.traces, strict=True):
        differences = _differences(expected, got, is_ordered=is_ordered)
        if differences:
            said = "\n".join(f"  {line}" for line in differences)
            raise Interrupted(f"{expected.flow}, {what}, went another way than undisturbed:\n{said}")


def _differences(expected: Trace, got: Trace, *, is_ordered: bool) -> list[str]:
    lines: list[str] = []
    if _outcome(expected) != _outcome(got):
        lines.append(f"it ended otherwise; undisturbed, {expected.headline}")
    ours, theirs = [_steady(row) for row in expected.rows], [_steady(row) for row in got.rows]
    lines += _missing("lost", ours, theirs) + _missing("too much", theirs, ours)
    if not lines and is_ordered and ours != theirs:
        lines.append("the rows came in another order")
    lines += _missing("event lost", expected.events, got.events) + _missing(
        "event too much", got.events, expected.events
    )
    lines += _missing("record lost", expected.once, got.once) + _missing("record too much", got.once, expected.once)
    if expected.leases_held != got.leases_held:
        lines.append(f"{got.leases_held} leases are held, and {expected.leases_held} undisturbed")
    return lines


def _missing(what: str, wanted: Sequence[Any], there: Sequence[Any]) -> list[str]:
    missing = list((Counter(wanted) - Counter(there)).elements())
    more = [f"… and {len(missing) - _SHOWN} more"] if len(missing) > _SHOWN else []
    return [f"{what}: {each}" for each in missing[:_SHOWN]] + more


def _steady(row: TraceRow) -> TraceRow:
    """A row without its instant: a slow step that is made again takes its time again."""
    return replace(row, at=None)


def _outcome(trace: Trace) -> tuple[Any, ...]:
    return trace.state, trace.error, trace.output
