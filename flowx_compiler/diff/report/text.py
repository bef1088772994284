"""The report for a terminal."""

from __future__ import annotations

from flowx_compiler.diff.compare import Report
from flowx_compiler.diff.rule import Verdict
from flowx_compiler.diff.sentences import NOTHING_CHANGED, SAME_DOCUMENT, counts, versions


def render_text(report: Report) -> str:
    """A section for each class that has findings, and a closing line that states the verdict."""
    lines = [f"{report.application} {versions(report)}"]
    if report.is_same_document:
        lines.append(SAME_DOCUMENT)
    elif not report.findings:
        lines.append(NOTHING_CHANGED)
    for verdict in Verdict:
        found = [finding for finding in report.findings if finding.verdict is verdict]
        if found:
            lines += ["", f"{verdict.value} ({len(found)})"]
        for finding in found:
            lines.append(f"  {finding.code} {finding.subject}")
            lines.append(f"      {finding.summary}: {finding.old} -> {finding.new}")
            lines.append(f"      hurts: {finding.hurt}")
            lines.append(f"      do: {finding.advice}")
    if report.uncompared:
        lines += ["", f"not compared, opaque in both documents: {', '.join(report.uncompared)}"]
    closing = "compatible." if report.is_compatible else "INCOMPATIBLE."
    return "\n".join([*lines, "", f"{counts(report)}: {closing}", ""])
