"""Annotations on a pull request: the workflow commands that GitHub Actions reads from a job's output."""

from __future__ import annotations

from collections.abc import Sequence

from flowx_compiler.findings import Finding


def render_github(findings: Sequence[Finding]) -> str:
    """One `::error` or `::warning` command for each finding."""
    return "".join(f"{_command(finding)}\n" for finding in findings)


def _command(finding: Finding) -> str:
    span = finding.place.span
    properties = {
        "file": finding.place.file,
        "line": str(span.line),
        "endLine": str(span.end_line),
        "title": finding.id,
    }
    if span.end_line == span.line:  # columns of a range over several lines are ignored there
        properties |= {"col": str(span.column), "endColumn": str(span.end_column)}
    text = f"{finding.message}\n{finding.help}" if finding.help else finding.message
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{finding.severity.value} {listed}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
