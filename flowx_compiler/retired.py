"""Retired plans import the code of today: what of it is gone, or means something else than when they were built."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flowx_compiler.findings import Place, Related
from flowx_compiler.lower.bindings import definition
from flowx_compiler.lower.meaning import meaning
from flowx_compiler.model import Problem, Program
from flowx_compiler.rules.flowx1304_retired_plan_changed import RULE
from flowx_compiler.syntax import Name, Span


def changes(program: Program, file: str, text: str, identity: str) -> Iterator[Problem]:
    """A problem for each name that a retired plan imports or reads and that is not what it was.

    Args:
        program: the program as it is now.
        file: where the plan is, relative to the root.
        text: the plan module.
        identity: as `flowx build --prune` takes it: `parcel.hold@1.0.0`.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return
    told: set[str] = set()
    for name, place in _imports(program, file, body):
        told.add(name)
        yield Problem(
            RULE.id,
            place,
            f"{identity} is retired and imports `{name}`, which is not there any more",
            help=f"put it back beside what took its place, until `flowx build --prune {identity}`",
            label="instances that started under it could not go on",
        )
    for name, fingerprint, place in _reads(file, body):
        now = meaning(program, name)
        if now is not None and now.name == name and now.fingerprint == fingerprint:
            continue
        if any(name == gone or name.startswith(f"{gone}.") for gone in told):
            continue
        is_there = now is not None and now.name == name
        what = "does not mean any more what it did" if is_there else "is not there any more"
        yield Problem(
            RULE.id,
            place,
            f"{identity} is retired and reads `{name}`, which {what}",
            help=f"let `{name.rpartition('.')[2]}` be what it was and give what is new a name of its own, "
            f"until `flowx build --prune {identity}`",
            label="instances that started under it would go another way",
            related=tuple(_written(program, name)) if is_there else (),
        )


def _imports(program: Program, file: str, body: list[ast.stmt]) -> Iterator[tuple[str, Place]]:
    """What is imported of the project and is not there."""
    assert program.lookup is not None, "a linked program can be asked what a name means"
    packages = {name.partition(".")[0] for name in program.modules}
    for statement in body:
        match statement:
            case ast.Import(names=names):
                for item in names:
                    root = item.name.partition(".")[0]
                    if root in packages and not program.lookup.is_project_module(item.name):
                        yield item.name, _place(file, item)
            case ast.ImportFrom(module=str(module), names=names) if module.partition(".")[0] in packages:
                for item in names:
                    if not _is_there(program, module, item.name):
                        yield f"{module}.{item.name}", _place(file, item)
            case _:
                pass


def _is_there(program: Program, module: str, name: str) -> bool:
    assert program.lookup is not None, "a linked program can be asked what a name means"
    if program.lookup.is_project_module(f"{module}.{name}"):
        return True
    if program.lookup.module(module) is None:
        return False
    found = program.lookup.resolve_expression(module, Name(name, Span(1, 1, 1, 1)))
    return found is not None and not found.startswith("builtins.")


def _reads(file: str, body: list[ast.stmt]) -> Iterator[tuple[str, str, Place]]:
    """What the plan says it reads; nothing for one that was built before plans said it."""
    for statement in body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id="READS"), value=ast.Tuple(elts=entries)):
                for entry in entries:
                    match entry:
                        case ast.Tuple(elts=[ast.Constant(value=str(name)), ast.Constant(value=str(fingerprint))]):
                            yield name, fingerprint, _place(file, entry)
                        case _:
                            pass
            case _:
                pass


def _written(program: Program, name: str) -> Iterator[Related]:
    found = definition(program, name)
    assert program.lookup is not None, "a linked program can be asked what a name means"
    for bound in () if found is None else (*found.bound, *found.patched)[-1:]:
        module = program.lookup.module(bound.module)
        if module is not None:
            yield Related(Place(module.file, bound.statement.span), "this is what it means now")


def _place(file: str, node: ast.expr | ast.alias) -> Place:
    line, end = node.lineno, node.end_lineno or node.lineno
    return Place(file, Span(line, node.col_offset + 1, end, (node.end_col_offset or node.col_offset) + 1))
