"""Reads a plan's flat array back as the blocks it was laid out from."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from datetime import timedelta
from enum import Enum
from itertools import pairwise
from typing import Any, Final, assert_never

from flowx_cli.graph.figure import FINISH, Arm, Block, Box, Figure, Group, Item, Look, Split
from flowx_runtime.authoring.backoff import Backoff
from flowx_runtime.authoring.durations import format_duration
from flowx_runtime.authoring.vocabulary import SubFlowMode
from flowx_runtime.plan import (
    AwaitSignal,
    Branch,
    Delay,
    Emit,
    Fail,
    ForEach,
    Jump,
    Parallel,
    Plan,
    Poll,
    Step,
    SubFlow,
    Switch,
)
from flowx_runtime.plan.nodes import Lifted, Node

RECEIVED: Final = "received"
"""How a wait for a signal ends, where it has another ending."""
SATISFIED: Final = "satisfied"
"""How a poll ends by its predicate, where it has another ending."""

_UNITS: Final = {"D": "d", "H": "h", "M": "min", "S": "s"}


def figure_of(plan: Plan[Any, Any]) -> Figure:
    """The picture of a plan."""
    output = () if plan.output is None else (f"gives {plan.output.__name__}",)
    return Figure(
        title=f"{plan.flow_id} {plan.version}",
        start=Box("start", Look.TERMINAL, f"{plan.flow_id} {plan.version}", tuple(_facts(plan))),
        body=tuple(_items(plan.nodes, 0, len(plan.nodes))),
        end=Box(FINISH, Look.TERMINAL, "completed", output),
    )


def _facts(plan: Plan[Any, Any]) -> Iterator[str]:
    yield f"takes {plan.input.__name__}"
    for route in plan.routes:
        yield f"{route.method} {route.path}"
    for schedule in plan.schedules:
        yield f"cron {schedule.cron} ({schedule.time_zone})"
    if plan.deadline is not None:
        yield f"deadline {_span(plan.deadline)}"
    for emit in plan.on_failure:
        yield f"on failure emits {emit.event.id}"


def _items(nodes: tuple[Node, ...], start: int, end: int) -> Iterator[Item]:
    index = start
    while index < end:
        item, index = _item(nodes, index)
        if item is not None:
            yield item


def _block(nodes: tuple[Node, ...], start: int, end: int) -> Block:
    return tuple(_items(nodes, start, end))


def _item(nodes: tuple[Node, ...], index: int) -> tuple[Item | None, int]:
    """What begins at a node, and the node after it."""
    node = nodes[index]
    match node:
        case Step():
            return _step(node), index + 1
        case Branch():
            return _branch(nodes, node)
        case Switch():
            return _switch(nodes, node)
        case Parallel():
            return _fork(nodes, node), node.join
        case ForEach():
            return _loop(nodes, node), node.join
        case SubFlow():
            mode = "its own instance" if node.mode is SubFlowMode.DETACHED else "waits for its end"
            title = f"{node.flow_id} {node.version}"
            label = (node.name,) if not node.name.startswith(node.flow_id) else ()
            return Box(_id(index), Look.CHILD, title, (*label, mode), index=index), index + 1
        case AwaitSignal():
            return _await(nodes, node)
        case Delay():
            return Box(_id(index), Look.WAIT, f"wait {_span(node.duration)}", index=index), index + 1
        case Poll():
            return _poll(nodes, node)
        case Emit():
            return Box(_id(index), Look.EMIT, f"emit {node.event.id}", index=index), index + 1
        case Fail():
            error = node.error
            return Box(_id(index), Look.FAIL, f"fail {getattr(error, 'code', error.__name__)}", index=index), index + 1
        case Jump():
            return None, index + 1
        case _:
            assert_never(node)


def _step(node: Step) -> Box:
    notes = [node.capability.id] if not node.name.startswith(node.capability.id) else []
    if node.policy is not None:
        notes.append(f"policy {node.policy.name}")
    undo = None
    if node.compensation is not None:
        undo = Box(f"u{node.index}", Look.UNDO, node.compensation.id)
    return Box(_id(node.index), Look.STEP, node.name, tuple(notes), undo, node.index)


def _branch(nodes: tuple[Node, ...], node: Branch) -> tuple[Item, int]:
    last = nodes[node.otherwise - 1]
    has_otherwise = isinstance(last, Jump) and last.index > node.index and last.target > node.otherwise
    then_end, join = (last.index, last.target) if isinstance(last, Jump) and has_otherwise else (node.otherwise,) * 2
    arms = (
        Arm("yes", _block(nodes, node.index + 1, then_end)),
        Arm("no", _block(nodes, node.otherwise, join)),
    )
    head = Box(_id(node.index), Look.CHOICE, f"{_said(node.predicate)}?", index=node.index)
    return Split(head, arms), join


def _switch(nodes: tuple[Node, ...], node: Switch) -> tuple[Item, int]:
    labels: dict[int, list[str]] = {}
    for value, target in node.cases:
        labels.setdefault(target, []).append(_value(value))
    starts = list(labels)
    closing = nodes[node.default - 1]
    join = closing.target if isinstance(closing, Jump) else node.default
    arms = [
        Arm(", ".join(labels[start]), _block(nodes, start, following - 1))
        for start, following in zip(starts, [*starts[1:], node.default], strict=True)
    ]
    arms.append(Arm("otherwise", _block(nodes, node.default, join)))
    head = Box(_id(node.index), Look.CHOICE, _said(node.selector), index=node.index)
    return Split(head, tuple(arms)), join


def _fork(nodes: tuple[Node, ...], node: Parallel) -> Split:
    bounds = (*node.branches, node.join)
    arms = tuple(Arm("", _block(nodes, start, end)) for start, end in pairwise(bounds))
    merge = node.merge
    how = merge.rule.replace("_", " ") + (f" of {merge.needed}" if merge.needed else "")
    return Split(Box(_id(node.index), Look.FORK, f"side by side: {how}", index=node.index), arms)


def _loop(nodes: tuple[Node, ...], node: ForEach) -> Group:
    notes = [f"{node.max_concurrency} at a time" if node.max_concurrency > 1 else "one after the other"]
    if node.continue_on_error:
        notes.append("goes on past errors")
    title = f"for each {node.item.__name__} of {_said(node.selector)}"
    return Group(f"g{node.index}", title, tuple(notes), _block(nodes, node.index + 1, node.join), node.index)


def _await(nodes: tuple[Node, ...], node: AwaitSignal) -> tuple[Item, int]:
    after = f"after {_span(node.timeout)}"
    box = Box(_id(node.index), Look.WAIT, f"await {node.signal.id}", index=node.index)
    if node.signal_target is None:
        return Box(box.id, box.look, box.title, (f"{after} it fails",), index=box.index), node.index + 1
    block = _block(nodes, node.index + 1, node.signal_target)
    return Split(box, (Arm(RECEIVED, ()), Arm(after, block)), is_sideways=True), node.signal_target


def _poll(nodes: tuple[Node, ...], node: Poll) -> tuple[Item, int]:
    attempt = nodes[node.index + 1]
    assert isinstance(attempt, Step)
    title = f"poll until {_said(node.until)}"
    after = f"after {_span(node.timeout)}"
    arms = [Arm(SATISFIED, ())]
    if node.signal is not None:
        arms.append(Arm(node.signal.id, ()))
    notes = [_interval(node.interval)]
    following = node.index + 2
    if node.satisfied_target is not None:
        arms.append(Arm(after, _block(nodes, following, node.satisfied_target)))
        following = node.satisfied_target
    else:
        notes.append(f"{after} it fails")
    group = Group(f"g{node.index}", title, tuple(notes), (_step(attempt),), node.index)
    return (group if len(arms) == 1 else Split(group, tuple(arms), is_sideways=True)), following


def _id(index: int) -> str:
    return f"n{index}"


def _span(length: timedelta) -> str:
    """`PT1H30M` as `1 h 30 min`."""
    days, _, time = format_duration(length).removeprefix("P").partition("T")
    parts = re.findall(r"([\d.]+)([DHMS])", f"{days}{time}")
    return " ".join(f"{amount} {_UNITS[unit]}" for amount, unit in parts) or "0 s"


def _interval(interval: Backoff) -> str:
    first, most = _span(interval.base), _span(interval.ceiling)
    gaps = f"every {first}" if first == most else f"every {first}, growing to {most}"
    gaps += ", jittered" if interval.has_jitter else ""
    return gaps + (f", {interval.attempts} times at most" if interval.attempts else "")


def _value(value: object) -> str:
    return value.name if isinstance(value, Enum) else str(value)


def _said(lifted: Lifted) -> str:
    """What a function of the context gives, as its author wrote it; its name where there is no one expression."""
    name = getattr(lifted, "__name__", "it")
    try:
        (function,) = ast.parse(textwrap.dedent(inspect.getsource(lifted))).body
    except (OSError, TypeError, ValueError, SyntaxError):
        return name
    body = function.body if isinstance(function, ast.FunctionDef) else []
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return name
    text = ast.unparse(body[0].value)
    return re.sub(r"\bctx\.", "", re.sub(r"\bctx\.get\((\w+)\)", r"\1", text))
