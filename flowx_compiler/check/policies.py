"""The steps of flows by what their policies say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowx_compiler.check.constructs import constructs
from flowx_compiler.findings import Place
from flowx_compiler.model import Capability, Policy, Program, Step


@dataclass(frozen=True, slots=True)
class PolicyUse:
    """A policy on a step."""

    policy: Policy
    capability: Capability
    place: Place
    """`with_policy`."""


def uses_of(program: Program, kind: str) -> Iterator[PolicyUse]:
    """Every step whose policy set has a kind of policy (`"cache"`)."""
    for flow in program.flows.values():
        for step in constructs(flow.body):
            if isinstance(step, Step) and step.policy is not None and kind in step.policy.policy.kinds:
                yield PolicyUse(step.policy.policy, step.capability.capability, step.policy.place)
