"""One line per finding."""

from __future__ import annotations

from collections.abc import Sequence

from flowx_compiler.findings import Finding


def render_concise(findings: Sequence[Finding]) -> str:
    """`file:line:column: severity ID message`."""
    return "".join(
        f"{finding.place.file}:{finding.place.span.line}:{finding.place.span.column}: "
        f"{finding.severity.value} {finding.id} {finding.message}\n"
        for finding in findings
    )
