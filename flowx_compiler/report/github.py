"""Annotations on a pull request: the workflow commands that GitHub Actions reads from a job's output."""

from __future__ import annotations

from flowx_compiler.findings import Finding, Severity
from flowx_compiler.report.report import Report
from flowx_compiler.report.workflow_commands import escaped, escaped_property

LIMIT = 10
"""GitHub shows this many annotations of each kind per step, and drops the rest without a word."""


def render_github(report: Report) -> str:
    """`::error` and `::warning` commands, at most ten of each; the tenth says how many more there are."""
    return "".join(f"{line}\n" for severity in Severity for line in _commands(report, severity))


def render_summary(report: Report) -> str:
    """Markdown for the step's summary, with every finding."""
    head = f"{_count(report, Severity.ERROR)}, {_count(report, Severity.WARNING)}"
    if report.suppressed:
        head += f", {len(report.suppressed)} suppressed"
    if report.known_count:
        head += f", {report.known_count} in the baseline"
    rows = [
        f"| {finding.severity.value} | {finding.id} | {_cell(_where(finding))} | {_cell(_text(finding))} |"
        for finding in report.findings
    ]
    table = ["| | Rule | Place | Finding |", "| --- | --- | --- | --- |", *rows] if rows else []
    return "\n".join([f"### flowx: {head}", *([""] if table else []), *table]) + "\n"


def _commands(report: Report, severity: Severity) -> list[str]:
    findings = [finding for finding in report.findings if finding.severity is severity]
    if len(findings) <= LIMIT:
        return [_command(finding) for finding in findings]
    rest = len(findings) - LIMIT + 1
    more = f"{rest} more {severity.value}s: the step's summary lists them, and so does `flowx check`"
    return [
        *(_command(finding) for finding in findings[: LIMIT - 1]),
        f"::{severity.value} title=flowx::{escaped(more)}",
    ]


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
    listed = ",".join(f"{name}={escaped_property(value)}" for name, value in properties.items())
    return f"::{finding.severity.value} {listed}::{escaped(_text(finding))}"


def _text(finding: Finding) -> str:
    return f"{finding.message}\n{finding.help}" if finding.help else finding.message


def _where(finding: Finding) -> str:
    return f"{finding.place.file}:{finding.place.span.line}:{finding.place.span.column}"


def _count(report: Report, severity: Severity) -> str:
    number = report.count(severity)
    return f"{number} {severity.value}{'' if number == 1 else 's'}"


def _cell(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("\\", "\\\\").replace("|", "\\|")
    return "<br>".join(escaped.splitlines())
