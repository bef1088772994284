"""Runs every rule over a program and applies the directives of its sources."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.registry import registry
from flowx_compiler.rules.suppress import suppress


def run_rules(program: Program) -> tuple[Finding, ...]:
    """Every finding, sorted by file, position and id."""
    return tuple(sorted(suppress(program, tuple(_raw(program))), key=lambda finding: finding.order))


def _raw(program: Program) -> Iterator[Finding]:
    for entry in registry():
        yield from entry.check(program)
