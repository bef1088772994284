"""The report as annotations of a GitHub Actions job."""

from __future__ import annotations

from flowx_compiler.diff.compare import Report
from flowx_compiler.diff.rule import Finding, Verdict
from flowx_compiler.diff.sentences import NOTHING_CHANGED, SAME_DOCUMENT, counts, printable, verdict_of
from flowx_compiler.report.workflow_commands import escaped, escaped_property

_LEVEL = {Verdict.BREAKING: "error", Verdict.ADDITIVE: "notice", Verdict.NEUTRAL: "notice"}
_SHOWN = 10
"""GitHub keeps this many of each level in a step and drops the rest unseen."""


def render_github(report: Report) -> str:
    """Errors for what breaks, notices for the rest; the last of a full level says how many more there are.

    A change of a contract has no line in a file, so no annotation claims one.
    """
    lines: list[str] = []
    report = printable(report)
    for level in ("error", "notice"):
        found = [finding for finding in report.findings if _LEVEL[finding.verdict] == level]
        shown = found if len(found) <= _SHOWN else found[: _SHOWN - 1]
        lines += [_command(level, finding) for finding in shown]
        if len(found) > len(shown):
            lines.append(
                f"::{level} title=flowx diff::and {len(found) - len(shown)} more: the summary of this step shows all"
            )
    if report.is_same_document:
        lines.append(SAME_DOCUMENT)
    elif not report.findings:
        lines.append(NOTHING_CHANGED)
    return "\n".join([*lines, f"{counts(report)}: {verdict_of(report)}.", ""])


def _command(level: str, finding: Finding) -> str:
    title = escaped_property(f"{finding.code} {finding.subject}")
    text = f"{finding.summary}: {finding.old} -> {finding.new}\nhurts: {finding.hurt}\ndo: {finding.advice}"
    return f"::{level} title={title}::{escaped(text)}"
