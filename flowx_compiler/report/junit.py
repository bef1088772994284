"""JUnit XML: a test case for each finding, or one that passed."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from flowx_compiler.findings import Finding, Severity
from flowx_compiler.report.report import Report

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(report: Report) -> str:
    """One suite.

    Errors are failures; a warning is a case that passed, with what it warns of as its output; what is suppressed was
    skipped, for the reason given.
    """
    cases = [_case(finding, _outcome(finding)) for finding in report.findings]
    cases += [_case(item.finding, f"<skipped message={quoteattr(_safe(item.reason))}/>") for item in report.suppressed]
    cases = cases or ['    <testcase classname="flowx" name="nothing found"/>']
    failures = report.count(Severity.ERROR)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{len(report.suppressed)}"'
    document = (
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="flowx" {counts}>',
        f'  <testsuite name="flowx" {counts}>',
        *cases,
        "  </testsuite>",
        "</testsuites>",
    )
    return "\n".join(document) + "\n"


def _case(finding: Finding, outcome: str) -> str:
    attributes = {
        "classname": finding.place.file,
        "name": f"{finding.id} {_where(finding)}",
        "file": finding.place.file,
        "line": str(finding.place.span.line),
    }
    listed = " ".join(f"{name}={quoteattr(_safe(value))}" for name, value in attributes.items())
    return f"    <testcase {listed}>{outcome}</testcase>"


def _outcome(finding: Finding) -> str:
    text = escape(_safe(f"{_where(finding)}: {finding.message}\n{finding.help}".rstrip()))
    if finding.severity is Severity.ERROR:
        return f"<failure type={quoteattr(finding.id)} message={quoteattr(_safe(finding.message))}>{text}</failure>"
    return f"<system-out>{text}</system-out>"


def _where(finding: Finding) -> str:
    span = finding.place.span
    return f"{finding.place.file}:{span.line}:{span.column}"


def _safe(text: str) -> str:
    """XML cannot carry control characters, not even escaped."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
