"""Everything that a format shows of a check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flowx_compiler.findings import Finding, Severity
from flowx_compiler.report.fingerprint import fingerprints
from flowx_compiler.verdict import KnownFinding, Suppressed, Verdict

if TYPE_CHECKING:
    from flowx_compiler.model import Program

Lines = Mapping[str, Sequence[str]]
"""The lines of each file that a finding may be in."""


@dataclass(frozen=True, slots=True)
class Report:
    """Findings with what identifies them and the source they are in."""

    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()
    fingerprints: Mapping[Finding, str] = field(default_factory=dict)
    """Of everything found, suppressed or not."""
    lines: Lines = field(default_factory=dict)
    flow_count: int = 0
    known_count: int = 0
    """How many findings are in the baseline."""
    stale: tuple[KnownFinding, ...] = ()
    """Entries of the baseline that nothing matches any more."""

    def count(self, severity: Severity) -> int:
        """How many findings of a severity there are."""
        return sum(finding.severity is severity for finding in self.findings)


def report(program: Program, verdict: Verdict) -> Report:
    """The report of one program."""
    everything = (*verdict.findings, *verdict.known, *(item.finding for item in verdict.suppressed))
    return Report(
        tuple(sorted(verdict.findings, key=lambda finding: finding.order)),
        tuple(sorted(verdict.suppressed, key=lambda item: item.finding.order)),
        fingerprints(program.modules.values(), everything),
        {module.file: module.lines for module in program.modules.values()},
        len(program.flows),
        len(verdict.known),
        verdict.stale,
    )


def together(reports: Iterable[Report]) -> Report:
    """One report of several applications; what two of them share is told once."""
    listed = list(reports)
    return Report(
        tuple(sorted({item for part in listed for item in part.findings}, key=lambda finding: finding.order)),
        tuple(sorted({item for part in listed for item in part.suppressed}, key=lambda item: item.finding.order)),
        {finding: digest for part in listed for finding, digest in part.fingerprints.items()},
        {file: lines for part in listed for file, lines in part.lines.items()},
        sum(part.flow_count for part in listed),
        sum(part.known_count for part in listed),
        tuple(dict.fromkeys(entry for part in listed for entry in part.stale)),
    )
