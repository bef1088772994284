"""Findings as one JSON document; `schemas/flowx.check.schema.json` describes it."""

from __future__ import annotations

import json
from typing import Any

from flowx_compiler.findings import Finding
from flowx_compiler.report.report import Report
from flowx_compiler.report.statistics import statistics


def render_json(report: Report, *, with_statistics: bool = False) -> str:
    """`{"version": 1, "diagnostics": […], …}`; lines and columns count from 1."""
    document: dict[str, Any] = {
        "version": 1,
        "diagnostics": [_diagnostic(report, finding) for finding in report.findings],
        "suppressed": [
            _diagnostic(report, item.finding)
            | {
                "reason": item.reason,
                "directive": {"line": item.directive.span.line, "column": item.directive.span.column},
            }
            for item in report.suppressed
        ],
        "baseline": {
            "known": report.known_count,
            "stale": [
                {"fingerprint": entry.fingerprint, "id": entry.id, "file": entry.file, "message": entry.message}
                for entry in report.stale
            ],
        },
        "flows": report.flow_count,
    }
    if with_statistics:
        document["statistics"] = [
            {"id": row.id, "name": row.name, "errors": row.errors, "warnings": row.warnings}
            for row in statistics(report.findings)
        ]
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _diagnostic(report: Report, finding: Finding) -> dict[str, Any]:
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
        "fingerprint": report.fingerprints[finding],
    }
