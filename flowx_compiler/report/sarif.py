"""SARIF 2.1.0, the format that code scanning services exchange."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from flowx_compiler.findings import Finding, Place
from flowx_compiler.report.excerpts import Lines
from flowx_compiler.report.fingerprint import fingerprinted
from flowx_compiler.rules.registry import find_rule

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_sarif(findings: Sequence[Finding], lines: Lines) -> str:
    """One run, with a table of the rules that found something."""
    ids = sorted({finding.id for finding in findings})
    run = {
        "tool": {"driver": {"name": "flowx", "rules": [_rule(name) for name in ids]}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, fingerprint, ids) for finding, fingerprint in fingerprinted(findings, lines)],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(id: str) -> dict[str, Any]:
    entry = find_rule(id)
    if entry is None:
        return {"id": id}
    summary, _, rest = entry.page.strip().partition("\n\n")
    short = " ".join(summary.split())
    return {
        "id": id,
        "name": "".join(word.capitalize() for word in entry.rule.name.split("-")),
        "shortDescription": {"text": short},
        "fullDescription": {"text": " ".join(rest.split()) or short},
        "help": {"text": f"flowx explain {id}"},
        "defaultConfiguration": {"level": entry.rule.severity.value},
    }


def _result(finding: Finding, fingerprint: str, ids: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": ids.index(finding.id),
        "level": finding.severity.value,
        "message": {"text": f"{finding.message}: {finding.help}" if finding.help else finding.message},
        "locations": [{"physicalLocation": _location(finding.place)}],
        "partialFingerprints": {"flowx/v1": fingerprint},
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, "physicalLocation": _location(related.place), "message": {"text": related.message}}
            for number, related in enumerate(finding.related, 1)
        ]
    return result


def _location(place: Place) -> dict[str, Any]:
    span = place.span
    return {
        "artifactLocation": {"uri": quote(place.file), "uriBaseId": "%SRCROOT%"},
        "region": {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        },
    }
