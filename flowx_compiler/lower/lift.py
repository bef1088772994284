"""Moves predicates, selectors, maps and projections into the plan module, every free name resolved."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.link.free_names import free_names
from flowx_compiler.lower.canonical import canonical, canonical_expression
from flowx_compiler.lower.fallbacks import fallback_of
from flowx_compiler.lower.meaning import References, references
from flowx_compiler.lower.plan_model import Definition, Fragment, Lifted
from flowx_compiler.lower.source_text import reindented, slice_text
from flowx_compiler.lower.spelling import RESERVED, Spelling, type_text
from flowx_compiler.model import DataFunction, PolicyReference, Program, TypeExpr, Value
from flowx_compiler.syntax import LEAVES, Attribute, Block, Class, Expr, Function, Import, Lambda, Name, Span, Stmt


class Lifter:
    """Lifts the code of one flow."""

    def __init__(self, program: Program, spelling: Spelling, context: str) -> None:
        self._program = program
        self._spelling = spelling
        self.context = context
        self.functions: list[Lifted] = []
        self.decides = References()
        """What the code reads, whose meaning the digest covers."""
        self.imports = References()
        """What the plan reads besides: its value is in the digest already, and a retired plan still imports it."""
        self._imported: dict[str, frozenset[str]] = {}

    def lift(self, function: DataFunction, name: str, result: TypeExpr) -> Lifted:
        """The function as the plan module has it: imported where it is named at module level, else moved there."""
        syntax = function.syntax
        meaning = canonical(syntax, lambda local: self._qualified(function.module, local))
        self.decides |= references(self._program, function.module, syntax)
        if function.name is not None:
            self.imports |= References(frozenset((function.name,)))
            return Lifted(self._spelling.name(function.name, home=function.module), meaning)
        replacements = self._replacements(function.module, syntax)
        lines = self._program.modules[function.module].lines
        definition = Definition(
            decorators=()
            if isinstance(syntax, Lambda)
            else tuple(self._text(function.module, item) for item in syntax.decorators),
            parameter=f"{function.parameter}: {self.context}",
            result=self.type_text(result),
            expression=slice_text(lines, syntax.body.span, replacements) if isinstance(syntax, Lambda) else None,
            body=None if isinstance(syntax, Lambda) else _moved_body(lines, syntax, replacements),
        )
        lifted = Lifted(self._own_name(name), meaning, definition)
        self.functions.append(lifted)
        return lifted

    def fragment(self, value: Value, folded: object) -> Fragment:
        """An expression of the author's: it stays one, so that a constant is read where the author keeps it."""
        text = self._text(value.module, value.syntax)
        read = references(self._program, value.module, Lambda((), value.syntax, value.syntax.span))
        if folded is not None:
            self.imports |= read
            return Fragment(text, ascii(folded))
        self.decides |= read
        spelt = canonical_expression(value.syntax, lambda local: self._qualified(value.module, local))
        return Fragment(text, spelt)

    def policy(self, reference: PolicyReference) -> tuple[Fragment, str | None]:
        """A policy set, and what its fallback says: of the rest, the digest has the facts."""
        value = reference.value
        read = references(self._program, value.module, Lambda((), value.syntax, value.syntax.span))
        spelt = canonical_expression(value.syntax, lambda local: self._qualified(value.module, local))
        text = Fragment(self._text(value.module, value.syntax), spelt)
        if not reference.policy.is_readable:
            self.decides |= read
            return text, None
        self.imports |= read
        fallback = fallback_of(self._program, value.module, value.syntax)
        if fallback is None:
            return text, None
        home, expression = fallback
        self.decides |= references(self._program, home, Lambda((), expression, expression.span))
        return text, canonical_expression(expression, lambda local: self._qualified(home, local))

    def type_text(self, type_: TypeExpr) -> str:
        """A type as the plan module spells it."""
        return type_text(type_, lambda name: self._spelling.name(name, home=self._home(name)))

    def _own_name(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self._spelling.taken:
            name = f"{wanted}_{number}"
            number += 1
        self._spelling.taken.add(name)
        return name

    def _text(self, module: str, expression: Expr) -> str:
        lines = self._program.modules[module].lines
        return slice_text(lines, expression.span, self._replacements(module, Lambda((), expression, expression.span)))

    def _replacements(self, module: str, syntax: Lambda | Function) -> list[tuple[Span, str]]:
        found: list[tuple[Span, str]] = []
        paths = _attribute_paths(syntax)
        for name, span in free_names(syntax):
            qualified = self._qualified(module, name)
            if qualified is None:
                continue
            whole = span
            if not self._is_module(module, qualified):
                spelt = self._spelling.name(qualified, home=self._home(qualified))
            else:
                for attribute, path in paths.get(span, ()):
                    if not self._is_module(module, f"{qualified}.{attribute}"):
                        break
                    qualified, whole = f"{qualified}.{attribute}", path
                spelt = self._spelling.module(qualified)
            found.append((whole, spelt))
        return found

    def _qualified(self, module: str, name: str) -> str | None:
        known = self._program.resolved[module].get(name)
        if known is not None:
            return known
        return f"builtins.{name}" if name in RESERVED else None

    def _is_module(self, module: str, qualified: str) -> bool:
        if module not in self._imported:
            self._imported[module] = frozenset(_imported_modules(self._program.modules[module].body))
        return qualified in self._program.modules or qualified in self._imported[module]

    def _home(self, qualified: str) -> str | None:
        """The module part of a qualified name: the longest prefix that is a module of the project."""
        prefix = qualified
        while prefix:
            prefix = prefix.rpartition(".")[0]
            if prefix in self._program.modules:
                return prefix
        return None


def _imported_modules(body: tuple[Stmt, ...]) -> Iterator[str]:
    """The modules that `import a.b` statements name, and the packages above them."""
    for statement in body:
        match statement:
            case Import(module=None, names=names):
                for item in names:
                    parts = item.name.split(".")
                    yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))
            case Block(suites=suites):
                for suite in suites:
                    yield from _imported_modules(suite.body)
            case _:
                pass


def _attribute_paths(syntax: object) -> dict[Span, list[tuple[str, Span]]]:
    """For each name that starts a dotted path: the attributes after it, each with the span of the path so far."""
    found: dict[Span, list[tuple[str, Span]]] = {}

    open_parts = [syntax]
    while open_parts:
        root = open_parts.pop()
        links: list[tuple[str, Span]] = []
        while isinstance(root, Attribute):
            links.append((root.attr, root.span))
            root = root.value
        if isinstance(root, Name):
            if links:
                found.setdefault(root.span, links[::-1])
        elif isinstance(root, tuple):
            open_parts += [inner for inner in root if type(inner) not in LEAVES]
    return found


def _moved_body(lines: tuple[str, ...], function: Function, replacements: list[tuple[Span, str]]) -> str:
    first = function.body[0]
    line, column = first.span.line, first.span.column
    if isinstance(first, Function | Class) and first.decorators:
        line = first.decorators[0].span.line
    span = Span(line, column, function.span.end_line, function.span.end_column)
    text = " " * (column - 1) + slice_text(lines, span, replacements)
    return reindented(text, "    ").rstrip()
