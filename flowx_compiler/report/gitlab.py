"""GitLab's code quality report."""

from __future__ import annotations

import json

from flowx_compiler.report.report import Report

_SEVERITY = {"error": "major", "warning": "minor"}


def render_gitlab(report: Report) -> str:
    """A list of issues, each with a fingerprint that survives edits around it."""
    issues = [
        {
            "description": f"{finding.message}: {finding.help}" if finding.help else finding.message,
            "check_name": finding.id,
            "fingerprint": report.fingerprints[finding],
            "severity": _SEVERITY[finding.severity.value],
            "location": {
                "path": finding.place.file,
                "lines": {"begin": finding.place.span.line, "end": finding.place.span.end_line},
            },
        }
        for finding in report.findings
    ]
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"
