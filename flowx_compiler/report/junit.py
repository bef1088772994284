"""JUnit XML: a test case for each finding, or one that passed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from flowx_compiler.findings import Finding, Severity

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(findings: Sequence[Finding]) -> str:
    """One suite. Errors are failures; a warning is a case that passed, with what it warns of as its output."""
    cases = [_case(finding) for finding in findings] or ['    <testcase classname="flowx" name="nothing found"/>']
    failures = sum(finding.severity is Severity.ERROR for finding in findings)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0"'
    document = (
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="flowx" {counts}>',
        f'  <testsuite name="flowx" {counts} skipped="0">',
        *cases,
        "  </testsuite>",
        "</testsuites>",
    )
    return "\n".join(document) + "\n"


def _case(finding: Finding) -> str:
    span = finding.place.span
    place = f"{finding.place.file}:{span.line}:{span.column}"
    text = escape(_safe(f"{place}: {finding.message}\n{finding.help}".rstrip()))
    attributes = {
        "classname": finding.place.file,
        "name": f"{finding.id} {place}",
        "file": finding.place.file,
        "line": str(span.line),
    }
    if finding.severity is Severity.ERROR:
        body = f"<failure type={quoteattr(finding.id)} message={quoteattr(_safe(finding.message))}>{text}</failure>"
    else:
        body = f"<system-out>{text}</system-out>"
    listed = " ".join(f"{name}={quoteattr(_safe(value))}" for name, value in attributes.items())
    return f"    <testcase {listed}>{body}</testcase>"


def _safe(text: str) -> str:
    """XML cannot carry control characters, not even escaped."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
