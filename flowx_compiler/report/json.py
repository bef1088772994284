"""Findings as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flowx_compiler.findings import Finding


def render_json(findings: Sequence[Finding]) -> str:
    """`{"version": 1, "diagnostics": […]}`; lines and columns count from 1."""
    document = {"version": 1, "diagnostics": [_diagnostic(finding) for finding in findings]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _diagnostic(finding: Finding) -> dict[str, Any]:
    span = finding.place.span
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "file": finding.place.file,
        "line": span.line,
        "column": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
        "message": finding.message,
        "help": finding.help,
        "related": [
            {
                "file": related.place.file,
                "line": related.place.span.line,
                "column": related.place.span.column,
                "message": related.message,
            }
            for related in finding.related
        ],
    }
