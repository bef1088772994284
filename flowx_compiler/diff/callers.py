"""Who uses what today: the people and flows a change would reach.

Read from the old document alone. Whoever the new one adds is built against what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from flowx_compiler.diff.document import Flow, Manifest, Trigger
from flowx_compiler.diff.versions import major
from flowx_compiler.diff.waits import all_steps

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Callers:
    """What is known of the other side of every flow, capability, event and signal."""

    _starts: Mapping[str, tuple[str, ...]]
    _parents: Mapping[str, tuple[str, ...]]
    _calling: Mapping[str, tuple[str, ...]]
    _consuming: Mapping[str, tuple[str, ...]]
    _awaiting: Mapping[str, tuple[str, ...]]

    def of_flow(self, key: str) -> str:
        """What starts a flow: `callers of flow order.place@1 (HTTP POST /orders, parent flow order.bulk)`."""
        return f"callers of flow {key}{self._ways(key)}"

    def readers_of_flow(self, key: str) -> str:
        """Who is given a flow's result."""
        return f"readers of the result of flow {key}{self._ways(key)}"

    def of_capability(self, key: str) -> str:
        """The flows that call a capability, as a step or to undo one."""
        return f"flows that call capability {key}{self._flows(self._calling, key)}"

    def readers_of_capability(self, key: str) -> str:
        """The flows that go on with a capability's result."""
        return f"flows that read the result of capability {key}{self._flows(self._calling, key)}"

    def of_event(self, key: str) -> str:
        """Who is told of an event."""
        return f"subscribers of event {key}{self._flows(self._consuming, key.partition('@')[0])}"

    def of_signal(self, signal: str) -> str:
        """Who sends a signal, and which flows wait for it."""
        awaiting = self._awaiting.get(signal, ())
        return f"senders of signal {signal}" + (f" (flow {_listed(awaiting)} waits for it)" if awaiting else "")

    def _ways(self, key: str) -> str:
        parents = self._parents.get(key.partition("@")[0], ())
        ways = (*self._starts.get(key, ()), *(f"parent flow {parent}" for parent in parents))
        return f" ({_listed(ways)})" if ways else ""

    def _flows(self, index: Mapping[str, tuple[str, ...]], key: str) -> str:
        flows = index.get(key, ())
        return f" (here: {_listed(flows)})" if flows else ""


def find_callers(manifest: Manifest) -> Callers:
    """Walk every flow of a document once."""
    parents: dict[str, dict[str, None]] = {}
    calling: dict[str, dict[str, None]] = {}
    consuming: dict[str, dict[str, None]] = {}
    awaiting: dict[str, dict[str, None]] = {}
    for flow in sorted(manifest.flows, key=lambda item: item.id):
        for step in all_steps(flow.steps):
            for called in (step.capability, step.compensation):
                if called:
                    calling.setdefault(_unit(called), {})[flow.id] = None
            if step.flow:
                parents.setdefault(step.flow, {})[flow.id] = None
            if step.signal:
                awaiting.setdefault(step.signal, {})[flow.id] = None
        for trigger in flow.triggers:
            if trigger.kind == "Bus" and trigger.topic:
                consuming.setdefault(trigger.topic, {})[flow.id] = None
    return Callers(_starts(manifest.flows), *(_frozen(index) for index in (parents, calling, consuming, awaiting)))


def _starts(flows: Iterable[Flow]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for flow in flows:
        for way in sorted(map(_way, flow.triggers)):
            found.setdefault(flow.key, {})[way] = None
    return _frozen(found)


def _frozen(index: Mapping[str, dict[str, None]]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(names) for key, names in index.items()}


_WAYS: Mapping[str, Callable[[Trigger], str]] = {
    "Http": lambda trigger: f"HTTP {trigger.method} {trigger.route}".rstrip(),
    "Bus": lambda trigger: f"publishers to {trigger.topic}",
    "Stream": lambda trigger: f"writers to stream {trigger.topic}",
    "Change": lambda trigger: f"changes of {trigger.topic}",
    "Schedule": lambda trigger: f"schedule {trigger.cron}",
    "Agent": lambda _: "agents that call it as a tool",
    "Cli": lambda _: "command line",
    "Manual": lambda _: "people who start it by hand",
}


def _way(trigger: Trigger) -> str:
    way = _WAYS.get(trigger.kind)
    return trigger.kind if way is None else way(trigger)


def _unit(reference: str) -> str:
    identity, _, version = reference.partition("@")
    return f"{identity}@{major(version)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(_first(tuple(names)))


def _first(names: tuple[str, ...]) -> Iterator[str]:
    rest = len(names) - _SHOWN
    # One more name takes no more room than saying that there is one more.
    yield from names if rest == 1 else names[:_SHOWN]
    if rest > 1:
        yield f"{rest} more"
