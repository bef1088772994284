"""`# flowx: ignore[ID] reason`: which findings it covers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules import flowx1290_unused_suppression, flowx1291_suppression_without_reason
from flowx_compiler.syntax import Argument, Attribute, Block, Call, Class, Directive, Function, Module, Stmt, walk
from flowx_compiler.verdict import Suppressed

UNUSED = flowx1290_unused_suppression.RULE.id
WITHOUT_REASON = flowx1291_suppression_without_reason.RULE.id
ABOUT_DIRECTIVES = frozenset({UNUSED, WITHOUT_REASON})
"""A directive cannot cover what is said about directives."""


def suppress(
    program: Program, findings: Iterable[Finding], ran: Callable[[str, str], bool]
) -> tuple[list[Finding], list[Suppressed]]:
    """The findings that stay, and those that directives cover.

    A directive covers its own line; a statement, call or argument that begins or ends on it; alone on a line it covers
    what the next line of code begins, and above a decorator the whole head of the class or function. A directive
    without a reason covers nothing. Whatever covers something is no longer reported as unused, nor what is about a rule
    that did not run.

    Args:
        program: the program with its directives.
        findings: what the rules found, with every directive called unused.
        ran: whether the rule of an id ran over a file.
    """
    directives = {module.file: _Directives(module) for module in program.modules.values() if module.directives}
    stay: list[Finding] = []
    suppressed: list[Suppressed] = []
    used: set[tuple[Place, str]] = set()
    for finding in findings:
        file = finding.place.file
        covering = () if finding.id in ABOUT_DIRECTIVES or file not in directives else directives[file].over(finding)
        if not covering:
            stay.append(finding)
            continue
        suppressed.append(Suppressed(finding, covering[0].reason, Place(file, covering[0].span)))
        used |= {_unused(file, directive, finding.id) for directive in covering}
    for module in program.modules.values():
        for directive in module.directives:
            used |= {_unused(module.file, directive, id) for id in directive.ids if not ran(id, module.file)}
    return [finding for finding in stay if finding.id != UNUSED or _key(finding) not in used], suppressed


def _unused(file: str, directive: Directive, id: str) -> tuple[Place, str]:
    return _key(flowx1290_unused_suppression.unused(file, directive, id))


def _key(finding: Finding) -> tuple[Place, str]:
    """What stays the same when a project gives the rule another severity."""
    return finding.place, finding.message


class _Directives:
    """The directives of one file, each with the lines it covers."""

    __slots__ = ("_covered",)

    def __init__(self, module: Module) -> None:
        ranges = tuple(_ranges(module.body))
        heads = tuple(_heads(module.body))
        self._covered = [
            (directive, _lines(module, directive, ranges, heads)) for directive in module.directives if directive.reason
        ]

    def over(self, finding: Finding) -> tuple[Directive, ...]:
        """Every directive over a finding, so that of two that say the same neither is called unused."""
        line = finding.place.span.line
        return tuple(directive for directive, lines in self._covered if finding.id in directive.ids and line in lines)


_Lines = tuple[int, int]


def _lines(
    module: Module, directive: Directive, ranges: tuple[_Lines, ...], heads: tuple[_Lines, ...]
) -> frozenset[int]:
    line = directive.span.line
    if directive.own_line:
        line = _next_code(module, line)
    covered = {line}
    for first, last in ranges:
        if line in (first, last) and not (directive.own_line and line != first):
            covered.update(range(first, last + 1))
    for first, last in heads:
        if line == first:
            covered.update(range(first, last + 1))
    return frozenset(covered)


def _next_code(module: Module, line: int) -> int:
    line += 1
    while line <= len(module.lines) and module.lines[line - 1].strip()[:1] in ("", "#"):
        line += 1
    return line


def _ranges(body: tuple[Stmt, ...]) -> Iterator[_Lines]:
    """First and last line of every statement, call and argument; of a chain's call only from its own name on."""
    for statement in body:
        match statement:
            case Class(body=inner, decorators=decorators) | Function(body=inner, decorators=decorators):
                yield from _parts(decorators)
                yield from _ranges(inner)
            case Block(expressions=expressions, suites=suites):
                yield from _parts(expressions)
                for suite in suites:
                    yield from _ranges(suite.body)
            case _:
                if not _is_chain(statement):
                    yield statement.span.line, statement.span.end_line
                yield from _parts(statement)


def _is_chain(statement: Stmt) -> bool:
    """Whether it calls something on what a call gave: then a directive speaks of one of the calls, not of them all."""
    return sum(isinstance(node, Call) and isinstance(node.function, Attribute) for node in _spine(statement)) > 1


def _spine(statement: Stmt) -> Iterator[object]:
    node: object = getattr(statement, "value", None)
    while isinstance(node, Call | Attribute):
        yield node
        node = node.function if isinstance(node, Call) else node.value


def _parts(part: object) -> Iterator[_Lines]:
    for node in walk(part):
        if isinstance(node, Argument):
            yield node.span.line, node.span.end_line
        elif isinstance(node, Call):
            first = node.function.attr_span.line if isinstance(node.function, Attribute) else node.span.line
            yield first, node.span.end_line


def _heads(body: tuple[Stmt, ...]) -> Iterator[_Lines]:
    """First decorator to the line of the name."""
    for statement in body:
        if isinstance(statement, Class | Function):
            first = statement.decorators[0].span.line if statement.decorators else statement.name_span.line
            yield first, statement.name_span.line
            yield from _heads(statement.body)
