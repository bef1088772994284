"""Contracts: the typed values that cross the borders of steps and flows."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict

T = TypeVar("T")


class Contract(BaseModel):
    """A frozen pydantic model that refuses members it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SensitiveMark:
    """Marks a member whose value never leaves in a log line, error, event, listing or page."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Sensitive"


Sensitive = Annotated[T, SensitiveMark()]
"""`national_id: Sensitive[str]` hides the value on every way out; the member's name is published."""
