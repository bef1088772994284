"""Finds the syntax that a finding is about, by its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flowx_compiler.check.reads import calls
from flowx_compiler.findings import Place
from flowx_compiler.fix.edits import Edit
from flowx_compiler.link.builder_calls import CALLS
from flowx_compiler.model import Program
from flowx_compiler.syntax import Attribute, Call, Function, Import, Lambda, Module, Span, walk


def module_of(program: Program, place: Place) -> Module | None:
    """The module that a place is in."""
    return next((module for module in program.modules.values() if module.file == place.file), None)


def call_at(module: Module, span: Span) -> Call | None:
    """The call whose function, method name or whole text a span covers."""
    for call in calls(module.body):
        function = call.function
        if span in (call.span, function.span) or (isinstance(function, Attribute) and function.attr_span == span):
            return call
    return None


def call_inside(module: Module, span: Span, methods: tuple[str, ...]) -> Call | None:
    """The first call of one of the methods inside a span."""
    for call in calls(module.body):
        if isinstance(call.function, Attribute) and call.function.attr in methods and span.holds(call.span):
            return call
    return None


_ASKED: Final = frozenset({"predicate", "selector", "request", "payload", "projection", "until"})
"""The arguments of a builder's calls that are asked of the context; a block is given a builder."""


def context_at(module: Module, span: Span) -> str | None:
    """The name of the context around a place: of the lambda that a builder is given, or of a capability's function.

    `None` where there is none, or where something in between has a parameter of that name.
    """
    asked = {value.span for call in calls(module.body) for value in _asked_lambdas(call)}
    found: str | None = None
    for node in walk(module.body):
        if not isinstance(node, Lambda | Function) or not node.span.holds(span):
            continue
        parameters = [parameter.name for parameter in node.parameters if parameter.name != "self"]
        if found is not None:
            if found in parameters:
                return None
        elif isinstance(node, Lambda):
            found = parameters[0] if len(parameters) == 1 and node.span in asked else None
        elif _is_capability(node) and len(parameters) == 2:
            found = parameters[1]
    return found


def _asked_lambdas(call: Call) -> Iterator[Lambda]:
    signature = CALLS.get(call.function.attr) if isinstance(call.function, Attribute) else None
    if signature is None:
        return
    for number, argument in enumerate(call.arguments):
        placed = signature.positional[number] if number < len(signature.positional) else ""
        if (argument.keyword or placed) in _ASKED and isinstance(argument.value, Lambda):
            yield argument.value


def text_of(module: Module, span: Span) -> str:
    """The source of a span on one line."""
    if span.line == span.end_line:
        return module.lines[span.line - 1][span.column - 1 : span.end_column - 1]
    middle = module.lines[span.line : span.end_line - 1]
    first, last = module.lines[span.line - 1][span.column - 1 :], module.lines[span.end_line - 1][: span.end_column - 1]
    return " ".join(part.strip() for part in (first, *middle, last))


def spelt(program: Program, module: Module, name: str) -> tuple[str, tuple[Edit, ...]]:
    """How a module spells a name of the runtime, and the import to add where it has none."""
    for local, meaning in program.resolved.get(module.name, {}).items():
        if meaning == f"flowx_runtime.{name}":
            return local, ()
    first = next((item for item in module.body if isinstance(item, Import) and item.module == "flowx_runtime"), None)
    line = 1 if first is None else first.span.line
    return name, (Edit(module.file, Span(line, 1, line, 1), f"from flowx_runtime import {name}\n"),)


def _is_capability(function: Function) -> bool:
    return function.name == "execute" or bool(function.decorators)
