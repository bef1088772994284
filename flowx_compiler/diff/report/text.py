"""The report for a terminal and for the log of a job."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.compare import Report
from flowx_compiler.diff.rule import Finding, Verdict
from flowx_compiler.diff.sentences import (
    NOTHING_CHANGED,
    SAME_DOCUMENT,
    counts,
    explained,
    printable,
    verdict_of,
    versions,
)


def render_text(report: Report) -> str:
    """A section for each class that has findings; the verdict comes last, where a log is read first."""
    shown = printable(report)
    lines = [f"{shown.application} {versions(shown)}".rstrip()]
    if shown.is_same_document:
        lines.append(SAME_DOCUMENT)
    elif not shown.findings:
        lines.append(NOTHING_CHANGED)
    for verdict in Verdict:
        found = [finding for finding in shown.findings if finding.verdict is verdict]
        if found:
            lines += ["", f"{verdict.value} ({len(found)})"]
        for finding in found:
            lines += _lines(finding)
    if shown.uncompared:
        lines += ["", f"not compared, opaque in both documents: {', '.join(shown.uncompared)}"]
    lines += ["", f"{counts(shown)}: {verdict_of(shown)}."]
    if shown.findings:
        lines.append(explained(shown))
    return "\n".join([*lines, ""])


def _lines(finding: Finding) -> Iterator[str]:
    yield f"  {finding.code} {finding.subject}"
    yield f"      {finding.summary}: {finding.old} -> {finding.new}"
    yield f"      hurts: {finding.hurt}"
    yield f"      do: {finding.advice}"
