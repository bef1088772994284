"""What makes a finding the same finding after lines above it have moved."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from flowx_compiler.findings import Finding, Place
from flowx_compiler.syntax import Block, Class, Function, Module, Stmt

_DIRECTIVE = re.compile(r"#\s*flowx:\s*ignore\[.*")


def fingerprints(modules: Iterable[Module], findings: Iterable[Finding]) -> Mapping[Finding, str]:
    """A digest of each finding's rule, module, enclosing definition and text, and of how many equal ones precede it.

    No line number goes in, and no message, which a newer compiler may word differently. The module stands for the file,
    so that the same file gives the same digest from whichever folder the check runs.

    Args:
        modules: where the findings are; one in no module is known by its file.
        findings: every finding, with those that are suppressed or in a baseline: one of two equal findings must not
            change its digest when the other is suppressed.
    """
    by_file = {module.file: module for module in modules}
    seen: Counter[tuple[str, ...]] = Counter()
    given: dict[Finding, str] = {}
    for finding in sorted(findings, key=lambda finding: finding.order):
        if finding not in given:
            module = by_file.get(finding.place.file)
            where = finding.place.file if module is None else module.name
            key = (finding.id, where, *_context(module, finding.place))
            seen[key] += 1
            text = "\0".join((*key, str(seen[key])))
            given[finding] = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return given


def _context(module: Module | None, place: Place) -> tuple[str, str]:
    if module is None:
        return "", ""
    return ".".join(_enclosing(module.body, place.span.line)), _text(module, place)


def _enclosing(body: tuple[Stmt, ...], line: int) -> Iterator[str]:
    """The names of the definitions around a line, decorators included, from the outside in."""
    for statement in body:
        match statement:
            case (
                Class(name=name, decorators=decorators, span=span)
                | Function(name=name, decorators=decorators, span=span)
            ):
                first = decorators[0].span.line if decorators else span.line
                if first <= line <= span.end_line:
                    yield name
                    yield from _enclosing(statement.body, line)
            case Block(suites=suites):
                for suite in suites:
                    yield from _enclosing(suite.body, line)
            case _:
                pass


def _text(module: Module, place: Place) -> str:
    """The marked text as far as its first line goes, whatever its spacing, without a directive about it."""
    span = place.span
    if span.line > len(module.lines):
        return ""
    line = module.lines[span.line - 1]
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    return " ".join(_DIRECTIVE.sub("", line[span.column - 1 : end]).split())
