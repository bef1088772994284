"""`# flowx: ignore[ID] reason`: what it covers, and what it says when it covers nothing."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.findings import Finding, Place, Severity
from flowx_compiler.model import Program
from flowx_compiler.syntax import Block, Class, Directive, Function, Module, Span, Stmt

UNUSED = "FLOWX1290"
WITHOUT_REASON = "FLOWX1291"


def suppress(program: Program, findings: tuple[Finding, ...]) -> Iterator[Finding]:
    """The findings that no directive covers, and those about the directives themselves.

    A directive covers its own line, the first line of a statement that ends on it and the reverse; alone on a line it
    covers the next line of code, and above a decorator the whole head of the class or function. A directive without a
    reason covers nothing.
    """
    by_file = {module.file: module for module in program.modules.values()}
    used: set[tuple[str, Span, str]] = set()
    for finding in findings:
        module = by_file.get(finding.place.file)
        covering = None if module is None else _covering(module, finding)
        if covering is None:
            yield finding
        else:
            used.add((finding.place.file, covering.span, finding.id))
    for module in sorted(by_file.values(), key=lambda module: module.file):
        for directive in module.directives:
            yield from _about(module, directive, used)


def _covering(module: Module, finding: Finding) -> Directive | None:
    line = finding.place.span.line
    for directive in module.directives:
        if finding.id in directive.ids and directive.reason and line in _lines(module, directive):
            return directive
    return None


def _lines(module: Module, directive: Directive) -> frozenset[int]:
    line = directive.span.line
    if directive.own_line:
        line += 1
        while line <= len(module.lines) and module.lines[line - 1].strip()[:1] in ("", "#"):
            line += 1
    covered = {line}
    for first, last in _statements(module.body):
        if line in (first, last):
            covered |= {first, last}
    for first, last in _heads(module.body):
        if line == first:
            covered |= set(range(first, last + 1))
    return frozenset(covered)


def _statements(body: tuple[Stmt, ...]) -> Iterator[tuple[int, int]]:
    for statement in body:
        match statement:
            case Class(body=inner) | Function(body=inner):
                yield from _statements(inner)
            case Block(suites=suites):
                for suite in suites:
                    yield from _statements(suite.body)
            case _:
                yield statement.span.line, statement.span.end_line


def _heads(body: tuple[Stmt, ...]) -> Iterator[tuple[int, int]]:
    """First decorator to the line of the name."""
    for statement in body:
        if isinstance(statement, Class | Function):
            first = statement.decorators[0].span.line if statement.decorators else statement.name_span.line
            yield first, statement.name_span.line
            yield from _heads(statement.body)


def _about(module: Module, directive: Directive, used: set[tuple[str, Span, str]]) -> Iterator[Finding]:
    place = Place(module.file, directive.span)
    if not directive.reason:
        yield Finding(
            WITHOUT_REASON,
            Severity.WARNING,
            place,
            "this suppression gives no reason, and so suppresses nothing",
            help="write why after the bracket: `# flowx: ignore[FLOWX1012] the undo is best effort here`",
        )
        return
    for id in directive.ids:
        if (module.file, directive.span, id) not in used:
            yield Finding(
                UNUSED, Severity.WARNING, place, f"this suppression of {id} covers no finding", help="take it away"
            )
