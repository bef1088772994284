"""What differs between two contracts, before anybody asks who is hurt.

A difference has no direction: that a field was added is a fact; whether it breaks depends on whether values of the
contract are accepted or produced, which the rules decide. Each pair of contracts is compared once, whoever uses it;
references lead to further pairs instead of into recursion, so recursive contracts end and every cost is linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Change(Enum):
    """What happened at one place of a contract."""

    OPTIONAL_ADDED = "optional field added"
    REQUIRED_ADDED = "required field added"
    REMOVED = "field removed"
    BECAME_REQUIRED = "became required"
    BECAME_OPTIONAL = "became optional"
    WIDENED = "takes more values"
    NARROWED = "takes fewer values"
    RETYPED = "is of another type"
    OPENED = "keeps fields that are not listed"
    CLOSED = "refuses fields that are not listed"
    OPAQUE = "cannot be compared"
    MARKED = "is marked sensitive"
    UNMARKED = "is no longer marked sensitive"


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two contracts differ."""

    path: str
    """Below the contract: `lines[].price`; empty for the contract itself."""
    change: Change
    old: str
    new: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """The outcome for one pair of contracts."""

    differences: tuple[Difference, ...]
    leads_to: tuple[tuple[str, str], ...]
    """Pairs of contracts that fields of this pair refer to."""
    is_uncompared: bool = False
    """Opaque in the same words on both sides, at least in part."""
