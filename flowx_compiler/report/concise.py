"""One line per finding."""

from __future__ import annotations

from flowx_compiler.report.report import Report


def render_concise(report: Report) -> str:
    """`file:line:column: severity ID message`."""
    return "".join(
        f"{finding.place.file}:{finding.place.span.line}:{finding.place.span.column}: "
        f"{finding.severity.value} {finding.id} {finding.message}\n"
        for finding in report.findings
    )
