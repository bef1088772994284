"""How often each rule found something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from flowx_compiler.findings import Finding, Severity
from flowx_compiler.rules.registry import find_rule


@dataclass(frozen=True, slots=True)
class RuleCount:
    """One rule's share."""

    id: str
    name: str
    errors: int
    warnings: int

    @property
    def total(self) -> int:
        """Errors and warnings."""
        return self.errors + self.warnings


def statistics(findings: Iterable[Finding]) -> tuple[RuleCount, ...]:
    """The rules that found something, the most frequent first."""
    counts = Counter((finding.id, finding.severity) for finding in findings)
    rows = [
        RuleCount(id, _name(id), counts[id, Severity.ERROR], counts[id, Severity.WARNING])
        for id in {id for id, _ in counts}
    ]
    return tuple(sorted(rows, key=lambda row: (-row.total, row.id)))


def render_statistics(findings: Iterable[Finding]) -> str:
    """A table: count, id, severity, name."""
    rows = statistics(findings)
    width = max((len(str(row.total)) for row in rows), default=1)
    return "".join(f"{row.total:>{width}}  {row.id}  {_severity(row):<7}  {row.name}\n" for row in rows)


def _name(id: str) -> str:
    entry = find_rule(id)
    return "" if entry is None else entry.rule.name


def _severity(row: RuleCount) -> str:
    if row.errors and row.warnings:
        return "both"
    return "error" if row.errors else "warning"
