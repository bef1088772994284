"""Lowers one sound flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.check.once_steps import has_steps
from flowx_compiler.contracts.published import Published
from flowx_compiler.lower.canonical import local_names
from flowx_compiler.lower.digest import digest
from flowx_compiler.lower.layout import Layout
from flowx_compiler.lower.lift import Lifter
from flowx_compiler.lower.meaning import References
from flowx_compiler.lower.plan_model import Fail, FailureEmit, Node, PlanModel
from flowx_compiler.lower.reach import reached
from flowx_compiler.lower.spelling import RESERVED, Spelling
from flowx_compiler.model import Contract, DataFunction, Flow, Program, TypeExpr

RUNTIME_NAMES = (
    "AwaitSignal", "Branch", "CapabilityUse", "ContractUse", "Delay", "Emit", "EventUse", "Fail", "FailureEmit",
    "Final", "FlowContext", "ForEach", "Jump", "Merge", "MissedFire", "PLAN", "Parallel", "Plan", "Poll", "Profile",
    "READS", "Schedule", "SignalUse", "Step", "SubFlow", "SubFlowMode", "Switch", "annotations", "duration",
)  # fmt: skip
"""What a plan module may define or import for itself; an author's name that is the same gets another spelling."""


def lower(program: Program, flow: Flow) -> PlanModel:
    """The plan of a sound flow."""
    assert flow.is_sound, "only a sound flow is lowered"
    # A name that any lifted code binds for itself is no name for an import: the code would read its own.
    locals_ = frozenset(name for function in _functions(flow) for name in local_names(function.syntax))
    spelling = Spelling(set(RUNTIME_NAMES) | RESERVED | locals_)
    lifter = Lifter(program, spelling, context="")
    lifter.context = f"FlowContext[{lifter.type_text(flow.input)}]"
    layout = Layout(lifter, program.flows)
    nodes = layout.lay_out(flow.body)
    on_failure = tuple(
        FailureEmit(
            layout.name(emit.event.id),
            emit.event,
            lifter.lift(emit.payload, f"emit_on_failure_{number}", TypeExpr(emit.event.contract)),
        )
        for number, emit in enumerate(flow.on_failure)
    )
    returns = None
    if flow.returns is not None:
        returns = lifter.lift(flow.returns, "returns", flow.output)
    capabilities = tuple(layout.capabilities.values())
    for capability in capabilities:
        spelling.name(capability.name, home=capability.module)
        lifter.type_text(capability.request)
        lifter.type_text(capability.result)
    contracts = _contracts(program, flow, capabilities)
    for contract in contracts:
        lifter.type_text(TypeExpr(contract.name))
    held = References(frozenset((*(contract.name for contract in contracts), *_held(flow, nodes, capabilities))))
    decides = reached(program, lifter.decides | held)
    kept = reached(program, lifter.decides | lifter.imports | held)
    lowered = PlanModel(
        flow=flow.name,
        module=flow.module,
        flow_id=flow.id,
        version=flow.version,
        is_durable=flow.is_durable,
        owner=flow.owner,
        deadline=flow.deadline,
        input=flow.input,
        output=flow.output,
        nodes=nodes,
        returns=returns,
        on_failure=on_failure,
        schedules=tuple(trigger for trigger in flow.triggers if isinstance(trigger, model.CronTrigger)),
        routes=tuple(trigger for trigger in flow.triggers if isinstance(trigger, model.HttpTrigger)),
        capabilities=capabilities,
        with_steps=frozenset(item.name for item in capabilities if has_steps(program, item)),
        contracts=contracts,
        functions=tuple(lifter.functions),
        imports=spelling.imports,
        spelling=spelling.names,
        decides=decides,
        reads=tuple((name, meant.fingerprint) for name, meant in kept.items() if meant.text and not meant.is_data),
        digest="",
    )
    return replace(lowered, digest=digest(lowered, Published.of(program)))


def _held(flow: Flow, nodes: tuple[Node, ...], capabilities: tuple[model.Capability, ...]) -> Iterator[str]:
    """What values of a flow are of that is no contract, and the errors that it ends with."""
    sides = [side for capability in capabilities for side in (capability.request, capability.result)]
    for type_ in (flow.input, flow.output, *sides):
        yield from _names_in(type_)
    for node in nodes:
        if isinstance(node, Fail):
            yield node.error


def _functions(flow: Flow) -> Iterator[DataFunction]:
    if flow.returns is not None:
        yield flow.returns
    for construct in (*constructs(flow.body), *flow.on_failure):
        match construct:
            case model.Step() | model.SubFlow() if construct.request is not None:
                yield construct.request
            case model.When():
                yield construct.predicate
            case model.Switch() | model.ForEach():
                yield construct.selector
            case model.Poll():
                yield construct.until
            case model.Emit():
                yield construct.payload
            case _:
                pass


def _contracts(program: Program, flow: Flow, capabilities: tuple[model.Capability, ...]) -> tuple[Contract, ...]:
    """Every contract that a value of this flow can be of: what goes in and out, and what steps give each other."""
    names = _names_in(flow.input) | _names_in(flow.output)
    for capability in capabilities:
        names |= _names_in(capability.request) | _names_in(capability.result)
    for construct in constructs(flow.body):
        match construct:
            case model.AwaitSignal():
                names.add(construct.signal.contract)
            case model.Poll() if construct.signal is not None:
                names.add(construct.signal.contract)
            case model.Emit():
                names.add(construct.event.contract)
            case model.ForEach():
                names.add(construct.item.name)
            case _:
                pass
    names |= {emit.event.contract for emit in flow.on_failure}
    return tuple(program.contracts[name] for name in sorted(_closure(program, names)))


def _closure(program: Program, names: set[str]) -> set[str]:
    """Those of the names that are contracts, and the contracts inside them."""
    found: set[str] = set()
    open_names = set(names)
    while open_names:
        name = open_names.pop()
        if name in program.contracts and name not in found:
            found.add(name)
            open_names |= {inner for field in program.contracts[name].fields for inner in _names_in(field.type)}
    return found


def _names_in(type_: TypeExpr) -> set[str]:
    return {type_.name} | {name for argument in type_.arguments for name in _names_in(argument)}
