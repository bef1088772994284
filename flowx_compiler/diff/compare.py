"""The comparison as one pure function: two manifests in, one ordered report out."""

from __future__ import annotations

from dataclasses import dataclass

from flowx_compiler.diff.comparison import pair_up
from flowx_compiler.diff.document import Manifest
from flowx_compiler.diff.registry import compares
from flowx_compiler.diff.rule import Finding, Verdict


@dataclass(frozen=True, slots=True)
class Report:
    """What changed between two manifests; every format renders this one value."""

    application: str
    old_version: str
    new_version: str
    findings: tuple[Finding, ...]
    uncompared: tuple[str, ...] = ()
    """Contracts opaque in both documents: silence about them proves nothing."""
    is_same_document: bool = False

    def count(self, verdict: Verdict) -> int:
        """How many findings of a class."""
        return sum(finding.verdict is verdict for finding in self.findings)

    @property
    def is_compatible(self) -> bool:
        """Whether nothing breaks."""
        return not self.count(Verdict.BREAKING)

    def fails_on(self, verdict: Verdict) -> bool:
        """Whether something is at least as grave."""
        return any(finding.verdict.rank <= verdict.rank for finding in self.findings)


def compare(old: Manifest, new: Manifest) -> Report:
    """Every change from one manifest to the other."""
    comparison = pair_up(old, new)
    found = {finding.order: finding for rules_of_a_family in compares() for finding in rules_of_a_family(comparison)}
    return Report(
        application=new.application or old.application or "unknown",
        old_version=old.application_version,
        new_version=new.application_version,
        findings=tuple(found[order] for order in sorted(found)),
        uncompared=comparison.usage.uncompared,
        is_same_document=old == new,
    )
