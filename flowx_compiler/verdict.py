"""What judging a program gave."""

from __future__ import annotations

from dataclasses import dataclass

from flowx_compiler.findings import Finding, Place, Severity


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that a directive covers."""

    finding: Finding
    reason: str
    """The words after the bracket."""
    directive: Place


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """A finding that a project has decided to live with for now: an entry of its baseline."""

    fingerprint: str
    id: str
    file: str
    """Relative to the project root, with `/`."""
    message: str
    """For whoever reads the baseline; the fingerprint alone decides."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Findings, sorted by file, position and id, and what is not among them."""

    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...] = ()
    known: tuple[Finding, ...] = ()
    """Found, and in the baseline."""
    stale: tuple[KnownFinding, ...] = ()
    """In the baseline, and not found any more."""

    @property
    def has_errors(self) -> bool:
        """Whether anything found says no."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)
