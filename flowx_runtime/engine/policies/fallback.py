"""What stands in for an answer once retry has given up."""

from __future__ import annotations

from flowx_runtime.authoring.capabilities import capability_declaration
from flowx_runtime.authoring.policies import Fallback
from flowx_runtime.plan.uses import CapabilityUse


def stand_in(fallback: Fallback, use: CapabilityUse) -> CapabilityUse | None:
    """The capability that is asked instead of another one; `None` where a constant stands in."""
    if fallback.capability is None:
        return None
    declared = capability_declaration(fallback.capability)
    if declared is None:
        raise ValueError(f"a fallback of {use.id!r} names {fallback.capability!r}, which is no capability")
    return CapabilityUse(fallback.capability, declared.id, declared.version, use.request, use.result)
