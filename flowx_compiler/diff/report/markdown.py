"""The report as a table for a pull request."""

from __future__ import annotations

import re

from flowx_compiler.diff.compare import Report
from flowx_compiler.diff.sentences import NOTHING_CHANGED, SAME_DOCUMENT, counts

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#!~@&])")


def render_markdown(report: Report) -> str:
    """One row for each finding; names from the documents are shown as text and can format nothing."""
    verdict = "compatible" if report.is_compatible else "**INCOMPATIBLE**"
    lines = [f"### Contract of {_text(report.application)}: {verdict}", "", f"{counts(report)}.", ""]
    if report.is_same_document:
        lines.append(f"{SAME_DOCUMENT[0].upper()}{SAME_DOCUMENT[1:]}.")
    elif not report.findings:
        lines.append(f"{NOTHING_CHANGED[0].upper()}{NOTHING_CHANGED[1:]}.")
    else:
        lines += ["| Class | Code | Subject | Change | Hurts | Do |", "| --- | --- | --- | --- | --- | --- |"]
    for finding in report.findings:
        change = f"{finding.summary}: {finding.old} → {finding.new}"
        cells = (finding.verdict.value, finding.code, finding.subject, change, finding.hurt, finding.advice)
        lines.append("| " + " | ".join(_text(cell) for cell in cells) + " |")
    if report.uncompared:
        lines += ["", f"Not compared, opaque in both documents: {_text(', '.join(report.uncompared))}."]
    return "\n".join([*lines, ""])


def _text(value: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(value.split()))
