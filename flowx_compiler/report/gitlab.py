"""GitLab's code quality report."""

from __future__ import annotations

import json
from collections.abc import Sequence

from flowx_compiler.findings import Finding
from flowx_compiler.report.excerpts import Lines
from flowx_compiler.report.fingerprint import fingerprinted

_SEVERITY = {"error": "major", "warning": "minor"}


def render_gitlab(findings: Sequence[Finding], lines: Lines) -> str:
    """A list of issues, each with a fingerprint that survives edits around it."""
    issues = [
        {
            "description": f"{finding.message}: {finding.help}" if finding.help else finding.message,
            "check_name": finding.id,
            "fingerprint": fingerprint,
            "severity": _SEVERITY[finding.severity.value],
            "location": {
                "path": finding.place.file,
                "lines": {"begin": finding.place.span.line, "end": finding.place.span.end_line},
            },
        }
        for finding, fingerprint in fingerprinted(findings, lines)
    ]
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"
