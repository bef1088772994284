"""A sound flow to a `PlanModel`: the flat node table, and the code it lifts from the author's modules."""

from flowx_compiler.lower.flow import lower

__all__ = ["lower"]
