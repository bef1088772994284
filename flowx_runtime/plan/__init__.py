"""Compiled plans: the contract between compiler and runtime. Standard library only.

Generated plan modules import these names; `nodes` says what each node means and how it is laid
out, `plan` what holds for a plan as a whole.
"""

from flowx_runtime.authoring.durations import InvalidDuration, duration, format_duration, parse_duration
from flowx_runtime.plan.catalog import Catalog, CatalogEntry
from flowx_runtime.plan.nodes import (
    AwaitSignal,
    Branch,
    Delay,
    Emit,
    Fail,
    ForEach,
    Jump,
    Node,
    Parallel,
    Poll,
    Step,
    SubFlow,
    Switch,
)
from flowx_runtime.plan.plan import FORMAT, FailureEmit, InvalidPlan, Plan
from flowx_runtime.plan.routes import Route
from flowx_runtime.plan.schedules import Schedule
from flowx_runtime.plan.uses import CapabilityUse, ContractUse, EventUse, SignalUse

__all__ = [
    "FORMAT",
    "AwaitSignal",
    "Branch",
    "CapabilityUse",
    "Catalog",
    "CatalogEntry",
    "ContractUse",
    "Delay",
    "Emit",
    "EventUse",
    "Fail",
    "FailureEmit",
    "ForEach",
    "InvalidDuration",
    "InvalidPlan",
    "Jump",
    "Node",
    "Parallel",
    "Plan",
    "Poll",
    "Route",
    "Schedule",
    "SignalUse",
    "Step",
    "SubFlow",
    "Switch",
    "duration",
    "format_duration",
    "parse_duration",
]
