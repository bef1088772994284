"""What a journal replays: the flows and capabilities that instances of durable flows come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.model import CapabilityReference, Flow, Program


def journaled(program: Program) -> Mapping[str, Flow]:
    """Flows and capabilities, by name, that a durable flow of the project comes to, each with such a flow.

    Inline sub-flows belong to their parent's run, so the reach goes through them. It ends where the project ends:
    under-reporting leaves a warning, over-reporting breaks a build without evidence.
    """
    reached: dict[str, Flow] = {}
    for _, flow in sorted(program.flows.items()):
        if flow.is_durable:
            _visit(program, flow, flow, reached)
    return reached


def references(flow: Flow) -> Iterator[CapabilityReference]:
    """Every capability that a flow names: in steps, polls and undos, blocks included."""
    for construct in constructs(flow.body):
        match construct:
            case model.Step(capability=capability, compensation=compensation):
                yield capability
                if compensation is not None:
                    yield compensation
            case model.Poll(capability=capability):
                yield capability
            case _:
                pass


def sub_flows(flow: Flow) -> Iterator[model.SubFlow]:
    """Every sub-flow call, blocks included."""
    return (construct for construct in constructs(flow.body) if isinstance(construct, model.SubFlow))


def _visit(program: Program, root: Flow, flow: Flow, reached: dict[str, Flow]) -> None:
    if flow.name in reached:
        return
    reached[flow.name] = root
    for reference in references(flow):
        reached.setdefault(reference.capability.name, root)
    for call in sub_flows(flow):
        child = program.flows.get(call.flow)
        if child is not None and not call.is_detached:
            _visit(program, root, child, reached)
