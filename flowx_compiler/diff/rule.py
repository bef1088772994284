"""What a diff rule says of itself, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

NOTHING = "(none)"
"""How an absent value prints."""


class Verdict(StrEnum):
    """How a change is judged, from the gravest."""

    BREAKING = "breaking"
    ADDITIVE = "additive"
    NEUTRAL = "neutral"

    @property
    def rank(self) -> int:
        """0 is the gravest."""
        return tuple(Verdict).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One change."""

    code: str
    verdict: Verdict
    subject: str
    summary: str
    old: str
    new: str
    hurt: str
    """Who is hurt, or who may notice."""
    advice: str
    """What to do."""

    @property
    def order(self) -> tuple[int, str, str, str, str, str]:
        """Verdict, code, subject; the rest makes the order total."""
        return self.verdict.rank, self.code, self.subject, self.summary, self.old, self.new


@dataclass(frozen=True, slots=True)
class Rule:
    """One code: its page, its verdict and its mirror."""

    number: str
    verdict: Verdict
    title: str
    """What changed, as a summary line."""
    detects: str
    """The exact condition."""
    matters: str
    hurt: str
    advice: str
    mirror: tuple[str, ...]
    """Numbers of the rules that report the change undone."""
    across: tuple[str, ...] = ()
    """Numbers of the rules that report the same change on another side: produced instead of accepted, an event instead
    of a flow."""
    one_sided: str = ""
    """Why there is no such rule; empty when there is."""
    asymmetry: str = ""
    """Why undoing the change is not always reported by the mirror; empty when it always is."""

    @property
    def code(self) -> str:
        """As it is printed."""
        return f"FLOWX-DIFF-{self.number}"

    def finding(
        self,
        subject: str,
        old: str = "",
        new: str = "",
        *,
        summary: str | None = None,
        hurt: str | None = None,
        advice: str | None = None,
    ) -> Finding:
        """A change of this rule's kind; what is not given is what the rule says in general."""
        return Finding(
            self.code,
            self.verdict,
            subject,
            self.title if summary is None else summary,
            old or NOTHING,
            new or NOTHING,
            self.hurt if hurt is None else hurt,
            self.advice if advice is None else advice,
        )
