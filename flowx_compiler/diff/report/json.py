"""The report as one JSON document, as `schemas/flowx.diff.schema.json` has it."""

from __future__ import annotations

import json

from flowx_compiler.diff.compare import Report
from flowx_compiler.diff.rule import Verdict


def render_json(report: Report, fail_on: Verdict) -> str:
    """The verdict and the counts come before the findings."""
    document = {
        "version": 1,
        "application": report.application,
        "baselineVersion": report.old_version or None,
        "candidateVersion": report.new_version or None,
        "sameDocument": report.is_same_document,
        "compatible": report.is_compatible,
        "failOn": fail_on.value,
        "passed": not report.fails_on(fail_on),
        **{verdict.value: report.count(verdict) for verdict in Verdict},
        "notCompared": list(report.uncompared),
        "findings": [
            {
                "code": finding.code,
                "class": finding.verdict.value,
                "subject": finding.subject,
                "summary": finding.summary,
                "old": finding.old,
                "new": finding.new,
                "hurts": finding.hurt,
                "advice": finding.advice,
            }
            for finding in report.findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
