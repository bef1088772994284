"""SARIF 2.1.0, the format that code scanning services exchange."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from flowx_compiler.findings import Finding, Place
from flowx_compiler.report.report import Report
from flowx_compiler.rules.page import page
from flowx_compiler.rules.registry import find_rule
from flowx_compiler.verdict import Suppressed

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_sarif(report: Report) -> str:
    """One run, with a table of the rules that found something; suppressed results carry why they are."""
    everything: list[tuple[Finding, Suppressed | None]] = [(finding, None) for finding in report.findings]
    everything += [(item.finding, item) for item in report.suppressed]
    everything.sort(key=lambda item: item[0].order)
    ids = sorted({finding.id for finding, _ in everything})
    run = {
        "tool": {"driver": {"name": "flowx", "rules": [_rule(name) for name in ids]}},
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(finding, report.fingerprints[finding], ids) | {"suppressions": _suppressions(suppressed)}
            for finding, suppressed in everything
        ],
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
        "help": {"text": f"flowx explain {id}", "markdown": page(entry)},
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


def _suppressions(suppressed: Suppressed | None) -> list[dict[str, Any]]:
    """Empty for what is not suppressed: leaving the list out would mean that nobody knows."""
    if suppressed is None:
        return []
    location = {"physicalLocation": _location(suppressed.directive)}
    return [
        {"kind": "inSource", "status": "accepted", "justification": suppressed.reason, "location": location},
    ]


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
