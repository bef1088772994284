"""Names that nothing binds, and what a module of the project does not have."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from flowx_compiler.findings import Place
from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.project import Project
from flowx_compiler.syntax import Attribute, Expr, Name, Span

_ADVICE = "import it, or define it at module level"


def note_unbound(project: Project, module: str, name: str, span: Span) -> None:
    """Note a name that nothing in its module binds, or that is imported from where it is not."""
    binding = project.names.scope(module).last(name)
    imported = None if binding is None else binding.imported
    if imported is not None and imported[1] is not None:
        _note_missing(project, imported[0], imported[1], project.place(module, span))
        return
    close = get_close_matches(name, sorted(project.names.names(module)), 1, 0.8)
    advice = f"did you mean `{close[0]}`? Otherwise {_ADVICE}" if close else _ADVICE
    message = f"nothing in {module} binds `{name}`"
    project.problems.add(ids.UNRESOLVED_NAME, project.place(module, span), message, advice)


def note_unresolved(project: Project, module: str, expression: Expr | None) -> bool:
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
        _note_missing(project, owner, expression.attr, project.place(module, expression.attr_span))
        return True
    # Every part is asked, so that one run names every name that leads nowhere.
    found = [note_unresolved(project, module, part) for part in _parts(expression)]
    return any(found)


def _note_missing(project: Project, module: str, name: str, place: Place) -> None:
    """Note what a module of the project lacks; of one that cannot be read, its own problem says enough."""
    read = project.sources.module(module)
    if read is not None and read.problems:
        return
    close = get_close_matches(name, sorted(project.names.names(module)), 1)
    advice = f"did you mean `{close[0]}`?" if close else "define it there, or name what is"
    project.problems.add(ids.UNRESOLVED_NAME, place, f"module {module} has no `{name}`", advice)


def _parts(node: object) -> Iterator[Expr]:
    if isinstance(node, Name | Attribute):
        yield node
    elif isinstance(node, tuple) and not isinstance(node, Span):
        for part in node:
            yield from _parts(part)
