"""Where capabilities, flow classes and the defaults of contracts read a clock or randomness themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from flowx_compiler.check.ambient import ambient
from flowx_compiler.check.nodes import nodes
from flowx_compiler.check.own_code import bodies, flow_bodies
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Place
from flowx_compiler.model import Contract, Program
from flowx_compiler.syntax import Assign, Attribute, Name


@dataclass(frozen=True, slots=True)
class Site:
    """One read, of the kind that was asked for."""

    name: str
    owner: str
    """Who reads it, for the message."""
    owners: tuple[str, ...]
    """The capabilities and flows, by name, that come to it."""
    place: Place


def ambient_sites(program: Program, kind: str) -> Iterator[Site]:
    """Every call of, and reference to, an ambient source of a kind."""
    for capability in program.capabilities.values():
        owner = f"capability {capability.id!r}"
        yield from _sites(program, kind, capability.module, bodies(capability), owner, (capability.name,))
    for flow in program.flows.values():
        yield from _sites(program, kind, flow.module, flow_bodies(flow), f"flow {flow.id!r}", (flow.name,))
    for contract in program.contracts.values():
        if contract.module in program.modules:
            owner = f"a default of contract {contract.name.rpartition('.')[2]}"
            for site in _sites(program, kind, contract.module, _defaults(contract), owner, ()):
                yield replace(site, owners=_users(program, contract))


def _users(program: Program, contract: Contract) -> tuple[str, ...]:
    return tuple(
        capability.name
        for capability in program.capabilities.values()
        if contract.name in (capability.request.name, capability.result.name)
    )


def _sites(
    program: Program, kind: str, module: str, parts: Iterator[object], owner: str, owners: tuple[str, ...]
) -> Iterator[Site]:
    file = program.modules[module].file
    for part in parts:
        for node in nodes(program, part):
            if not isinstance(node, Name | Attribute):
                continue
            name = qualified(program, module, node)
            source = None if name is None else ambient(name)
            if name is not None and source is not None and source[0] == kind:
                yield Site(name.removeprefix("datetime."), owner, owners, Place(file, node.span))


def _defaults(contract: Contract) -> Iterator[object]:
    return (statement.value for statement in contract.syntax.body if isinstance(statement, Assign))
