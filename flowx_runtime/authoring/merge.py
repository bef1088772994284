"""When a fork counts as done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Merge:
    """The rule that decides a fork from its branches' outcomes."""

    rule: str
    needed: int | None = None
    """Successes needed, for a quorum."""

    ALL_MUST_SUCCEED: ClassVar[Merge]
    """The first failure cancels the siblings and is the fork's failure."""
    ALL_SETTLED: ClassVar[Merge]
    """Every branch runs to its end; failures are reported, none cancels."""
    FIRST_SUCCESS: ClassVar[Merge]
    """The first success cancels the rest."""

    @classmethod
    def quorum(cls, needed: int) -> Merge:
        """`needed` successes cancel the rest."""
        return cls("quorum", needed)


Merge.ALL_MUST_SUCCEED = Merge("all_must_succeed")
Merge.ALL_SETTLED = Merge("all_settled")
Merge.FIRST_SUCCESS = Merge("first_success")
