"""The steps inside capabilities: every `ctx.once`, every call through `ctx.durable`, every helper that has some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from flowx_compiler.check.once_body import Body
from flowx_compiler.check.once_reader import BodyReader, Opened
from flowx_compiler.model import Capability, Program


def bodies_with_steps(program: Program) -> tuple[Body, ...]:
    """Every body of every capability, and of the helpers that capabilities pass their context to; each once."""
    return program.once("bodies with steps", "", lambda: tuple(_all_bodies(program)))


def steps_of(program: Program, capability: Capability) -> tuple[Body, ...]:
    """The bodies that a capability comes to: its own, its helpers', and the callables of their steps."""
    return program.once("steps of a capability", capability.name, lambda: tuple(_of_capability(program, capability)))


def labels_of(program: Program, capability: Capability) -> tuple[str, ...]:
    """The labels of the steps that a capability may run, sorted."""
    found = {step.name for body in steps_of(program, capability) for step in body.steps if step.kind == "once"}
    return tuple(sorted(name for name in found if name is not None))


def has_steps(program: Program, capability: Capability) -> bool:
    """Whether a capability has a step, as far as can be seen."""
    return any(body.steps for body in steps_of(program, capability))


def _all_bodies(program: Program) -> Iterator[Body]:
    seen: set[int] = set()
    for capability in program.capabilities.values():
        for body in steps_of(program, capability):
            if id(body.syntax) not in seen:
                seen.add(id(body.syntax))
                yield body


def _of_capability(program: Program, capability: Capability) -> Iterator[Body]:
    parameters = capability.function.parameters
    if len(parameters) < (2 if capability.owner is None else 3):
        return
    found: list[Body] = []
    seen: set[int] = set()
    open_bodies: list[Opened] = [(capability.module, capability.function, parameters[-1].name, capability.owner)]
    while open_bodies:
        module, syntax, context, owner = open_bodies.pop()
        if id(syntax) in seen:
            continue
        seen.add(id(syntax))
        given = {parameters[-2].name: capability.request.name} if syntax is capability.function else {}
        reader = BodyReader(program, module, context, owner, given)
        reader.read(syntax)
        open_bodies += reader.inner
        open_bodies += reader.helpers
        found.append(Body(module, reader.file, syntax, context, tuple(reader.steps), tuple(reader.own)))
    with_steps = _with_steps(found)
    for body in found:
        yield replace(
            body, steps=tuple(step for step in body.steps if step.target is None or id(step.target) in with_steps)
        )


def _with_steps(bodies: Iterable[Body]) -> set[int]:
    """The functions that have a step, themselves or in a helper they call."""
    found: set[int] = set()
    before = -1
    while len(found) != before:
        before = len(found)
        for body in bodies:
            if any(step.target is None or id(step.target) in found for step in body.steps):
                found.add(id(body.syntax))
    return found
