"""Runs the rules over a program and applies the directives of its sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.registry import registry
from flowx_compiler.rules.selection import EVERYTHING, Selection
from flowx_compiler.rules.suppress import suppress
from flowx_compiler.verdict import Verdict


def judge(program: Program, selected: Selection = EVERYTHING) -> Verdict:
    """Run the rules that are selected."""
    # A function that two constructs are given is judged twice and has one place: it is told once.
    found, suppressed = suppress(program, iter(dict.fromkeys(_raw(program, selected))), selected.ran)
    return Verdict(
        tuple(sorted(found, key=lambda finding: finding.order)),
        tuple(sorted(suppressed, key=lambda item: item.finding.order)),
    )


def run_rules(program: Program) -> tuple[Finding, ...]:
    """Every finding of every rule."""
    return judge(program).findings


def _raw(program: Program, selected: Selection) -> Iterator[Finding]:
    for entry in registry():
        if selected.runs(entry.rule):
            for finding in entry.check(program):
                if selected.reports(finding.id, finding.place.file):
                    severity = selected.severity_of(finding)
                    yield finding if severity is finding.severity else replace(finding, severity=severity)
