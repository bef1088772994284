"""Links a project: from its files to one `Program`."""

from __future__ import annotations

from collections.abc import Mapping
from keyword import iskeyword
from typing import TypeVar

from flowx_compiler.findings import Place
from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.candidates import read_candidates
from flowx_compiler.link.capabilities import capability, note_misplaced
from flowx_compiler.link.contracts import contract, enumeration, error_type, event, signal
from flowx_compiler.link.flows import is_flow, read_flow
from flowx_compiler.link.project import Project
from flowx_compiler.link.sources import Sources
from flowx_compiler.model import Flow, Policy, Problem, Program
from flowx_compiler.syntax import Assign, Block, Class, Function, Module, Name, Stmt

T = TypeVar("T")


def link(sources: Sources) -> Program:
    """Resolve every declaration of the project and understand every flow.

    Only files that can matter are read: those that can declare something, and those that names in them lead to.
    """
    project = Project.over(sources)
    flows: dict[str, Flow] = {}
    for name in read_candidates(sources, project.names):
        module = sources.module(name)
        if module is not None:
            _declarations(project, module, module.body, flows)
            note_misplaced(project, name, module.body)
    return Program(
        modules=dict(sorted(sources.read.items())),
        contracts=_found(project.contracts),
        enumerations=_found(project.enumerations),
        capabilities=_found(project.capabilities),
        events=_found(project.events),
        signals=_found(project.signals),
        errors=_found(project.errors),
        policies=_policies(project, sources),
        flows=flows,
        problems=(*_reading_problems(sources), *project.problems.found),
        resolved={name: _resolved(project, name) for name in sorted(sources.read)},
        lookup=project.names,
    )


def _declarations(project: Project, module: Module, body: tuple[Stmt, ...], flows: dict[str, Flow]) -> None:
    for statement in body:
        match statement:
            case Class() | Function() if _is_conditional(project, module, statement):
                continue
            case Class():
                _note_unimportable(project, module, statement)
                _class(project, module, statement, flows)
            case Function():
                _note_unimportable(project, module, statement)
                capability(project, f"{module.name}.{statement.name}")
            case Block(suites=suites):
                for suite in suites:
                    _declarations(project, module, suite.body, flows)
            case _:
                pass


def _is_conditional(project: Project, module: Module, syntax: Class | Function) -> bool:
    """Whether it is decided at run time which declaration a name means; that has been noted then."""
    marks = [mark for mark in ("flow", "capability") if project.decorator(module.name, syntax.decorators, mark)]
    if not marks or not project.names.is_conditional(module.name, syntax.name):
        return False
    project.problems.add(
        ids.CONDITIONAL_NAME,
        project.place(module.name, syntax.name_span),
        f"which {marks[0]} `{syntax.name}` is gets decided at run time: it is bound in several branches",
        "declare it once, at the top of the module",
    )
    return True


def _note_unimportable(project: Project, module: Module, syntax: Class | Function) -> None:
    """A plan imports what it uses: the module's own name has to be one."""
    parts = module.name.split(".")
    bad = next((part for part in parts if not part.isidentifier() or iskeyword(part)), None)
    declared = any(project.decorator(module.name, syntax.decorators, name) for name in ("flow", "capability"))
    if bad is not None and declared:
        project.problems.add(
            ids.DECLARED_INSIDE,
            project.place(module.name, syntax.name_span),
            f"{syntax.name} is in module {module.name!r}, and Python cannot import {bad!r}",
            "give the file or folder a name that is an identifier, with underscores",
        )


def _class(project: Project, module: Module, syntax: Class, flows: dict[str, Flow]) -> None:
    qualified = f"{module.name}.{syntax.name}"
    if is_flow(project, module.name, syntax):
        flow = read_flow(project, module.name, syntax)
        if flow is not None:
            flows[qualified] = flow
        return
    for look in (contract, enumeration, event, signal, error_type, capability):
        look(project, qualified)


def _found(declarations: Mapping[str, T | None]) -> dict[str, T]:
    return {name: found for name, found in sorted(declarations.items()) if found is not None}


def _policies(project: Project, sources: Sources) -> dict[str, Policy]:
    policies: dict[str, Policy] = {}
    for name, module in sorted(sources.read.items()):
        for statement in module.body:
            match statement:
                case Assign(targets=(Name() as target,)):
                    policy = project.constants.policy(name, target)
                    if policy is not None and policy.name == f"{name}.{target.id}":
                        policies[policy.name] = policy
                case _:
                    pass
    return policies


def _reading_problems(sources: Sources) -> list[Problem]:
    return [
        Problem(problem.id, Place(module.file, problem.span), problem.message, problem.help)
        for _, module in sorted(sources.read.items())
        for problem in module.problems
    ]


def _resolved(project: Project, module: str) -> dict[str, str]:
    found = {name: project.names.resolve(module, name) for name in project.names.names(module)}
    return {name: qualified for name, qualified in sorted(found.items()) if qualified is not None}
