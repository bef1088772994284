"""Two documents side by side, paired, as every rule sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowx_compiler.diff.callers import Callers, find_callers
from flowx_compiler.diff.contracts import Contracts
from flowx_compiler.diff.document import Capability, Event, Flow, Manifest
from flowx_compiler.diff.groups import Groups, group
from flowx_compiler.diff.uses import Place, Usage, Use, find_usage


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything a rule may ask about."""

    old: Manifest
    new: Manifest
    flows: Groups[Flow]
    capabilities: Groups[Capability]
    events: Groups[Event]
    contracts: Contracts
    usage: Usage
    callers: Callers


def pair_up(old: Manifest, new: Manifest) -> Comparison:
    """Pair the entries of two manifests and compare their contracts.

    What stands on one side only has no uses, so what a removed flow held is not reported a second time.
    """
    flows = group(old.flows, new.flows)
    capabilities = group(old.capabilities, new.capabilities)
    events = group(old.events, new.events)
    contracts = Contracts(old.contracts, new.contracts)
    callers = find_callers(old)
    usage = find_usage(contracts, _uses(old, new, flows, capabilities, events), callers)
    return Comparison(old, new, flows, capabilities, events, contracts, usage, callers)


def _uses(
    old: Manifest, new: Manifest, flows: Groups[Flow], capabilities: Groups[Capability], events: Groups[Event]
) -> Iterator[Use]:
    for flow in flows.kept:
        yield Use(Place.FLOW_INPUT, flow.key, flow.old.input, flow.new.input)
        yield Use(Place.FLOW_OUTPUT, flow.key, flow.old.output, flow.new.output)
    for capability in capabilities.kept:
        yield Use(Place.CAPABILITY_INPUT, capability.key, capability.old.input, capability.new.input)
        yield Use(Place.CAPABILITY_OUTPUT, capability.key, capability.old.output, capability.new.output)
    for event in events.kept:
        if event.old.contract is not None and event.new.contract is not None:
            yield Use(Place.EVENT, event.key, event.old.contract, event.new.contract)
    for signal in sorted(old.signals.keys() & new.signals.keys()):
        yield Use(Place.SIGNAL, signal, old.signals[signal], new.signals[signal])
