"""Names that nothing binds, and what a module of the project does not have."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.project import Project
from flowx_compiler.syntax import Attribute, Expr, Name, Span

_ADVICE = "import it, or define it at module level"


def note_unbound(project: Project, module: str, name: str, span: Span) -> None:
    """Note a name that nothing in its module binds."""
    close = get_close_matches(name, sorted(project.names.names(module)), 1, 0.8)
    advice = f"did you mean `{close[0]}`? Otherwise {_ADVICE}" if close else _ADVICE
    message = f"nothing in {module} binds `{name}`"
    project.problems.add(ids.UNRESOLVED_NAME, project.place(module, span), message, advice)


def note_unresolved(project: Project, module: str, expression: Expr) -> bool:
    """Whether a dotted expression, or a part of an annotation, leads nowhere; that has been noted then."""
    if isinstance(expression, Name):
        if project.names.resolve(module, expression.id) is not None:
            return False
        note_unbound(project, module, expression.id, expression.span)
        return True
    if isinstance(expression, Attribute):
        owner = project.names.resolve_expression(module, expression.value)
        if owner is None:
            return note_unresolved(project, module, expression.value)
        if project.names.resolve_expression(module, expression) is not None:
            return False
        names = sorted(project.names.names(owner))
        close = get_close_matches(expression.attr, names, 1)
        project.problems.add(
            ids.UNRESOLVED_NAME,
            project.place(module, expression.attr_span),
            f"module {owner} has no `{expression.attr}`",
            f"did you mean `{close[0]}`?" if close else "define it there, or name what is",
        )
        return True
    # Every part is asked, so that one run names every name that leads nowhere.
    found = [note_unresolved(project, module, part) for part in _parts(expression)]
    return any(found)


def _parts(node: object) -> Iterator[Expr]:
    if isinstance(node, Name | Attribute):
        yield node
    elif isinstance(node, tuple) and not isinstance(node, Span):
        for part in node:
            yield from _parts(part)
