"""Moves predicates, selectors, maps and projections into the plan module, every free name resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import dedent, indent

from flowx_compiler.link.free_names import free_names
from flowx_compiler.lower.canonical import canonical, canonical_expression
from flowx_compiler.lower.plan_model import Fragment, Lifted
from flowx_compiler.lower.source_text import one_line, slice_text
from flowx_compiler.lower.spelling import RESERVED, Spelling
from flowx_compiler.model import DataFunction, Program, TypeExpr, Value
from flowx_compiler.syntax import Attribute, Block, Expr, Function, Import, Lambda, Name, Span, Stmt

_LONGEST_LINE = 88


class Lifter:
    """Lifts the code of one flow."""

    def __init__(self, program: Program, spelling: Spelling, context: str) -> None:
        self._program = program
        self._spelling = spelling
        self.context = context
        self.functions: list[Lifted] = []
        self._imported: dict[str, frozenset[str]] = {}

    def lift(self, function: DataFunction, name: str, result: str) -> Lifted:
        """The function as the plan module has it: imported where it is named at module level, else moved there."""
        meaning = canonical(function.syntax, lambda local: self._qualified(function.module, local))
        if function.name is not None:
            home = function.module
            return Lifted(self._spelling.name(function.name, home=home), None, f"{function.name} {meaning}")
        name = self._own_name(name)
        lines = self._program.modules[function.module].lines
        replacements = self._replacements(function.module, function.syntax)
        header = f"def {name}({function.parameter}: {self.context}) -> {result}:\n"
        if isinstance(function.syntax, Lambda):
            body = self._returned(lines, function.syntax.body, replacements)
        else:
            body = _moved_body(lines, function.syntax, replacements)
        lifted = Lifted(name, header + body, meaning)
        self.functions.append(lifted)
        return lifted

    def fragment(self, value: Value, folded: object) -> Fragment:
        """An expression of the author's: it stays one, so that a constant is read where the author keeps it."""
        lines = self._program.modules[value.module].lines
        replacements = self._replacements(value.module, Lambda((), value.syntax, value.syntax.span))
        text = one_line(slice_text(lines, value.syntax.span, replacements))
        if folded is not None:
            return Fragment(text, repr(folded))
        spelt = canonical_expression(value.syntax, lambda local: self._qualified(value.module, local))
        return Fragment(text, spelt)

    def library(self, module: str, name: str) -> str:
        """A name of a library as the plan module spells it."""
        return self._spelling.name(f"{module}.{name}", home=module)

    def type_text(self, type_: TypeExpr) -> str:
        """A contract's name as the plan module spells it."""
        return "None" if type_.name == "None" else self._spelling.name(type_.name, home=self._home(type_.name))

    def _own_name(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self._spelling.taken:
            name = f"{wanted}_{number}"
            number += 1
        self._spelling.taken.add(name)
        return name

    def _returned(self, lines: tuple[str, ...], body: Expr, replacements: list[tuple[Span, str]]) -> str:
        span = body.span
        text = slice_text(lines, span, replacements)
        flat = one_line(text)
        line = f"    return {flat}\n"
        if len(line) <= _LONGEST_LINE + 1 or "\n" not in text:
            return line
        # Too long for a line: the author's own lines, in the brackets that let a return span several.
        first, *rest = text.split("\n")
        body_lines = "\n".join([first, *dedent("\n".join(rest)).split("\n")]) if rest else first
        closing = [line for line in rest if line.strip()]
        shallow = bool(closing) and closing[-1].strip()[:1] in ")]}"
        inner = "\n".join([first, *_reindented(rest)]) if shallow else body_lines
        return f"    return (\n{indent(inner, '        ')}\n    )\n"

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

    def walk(part: object) -> None:
        links: list[tuple[str, Span]] = []
        root = part
        while isinstance(root, Attribute):
            links.append((root.attr, root.span))
            root = root.value
        if isinstance(root, Name):
            if links:
                found.setdefault(root.span, links[::-1])
        elif isinstance(root, tuple) and not isinstance(root, Span):
            for inner in root:
                walk(inner)

    walk(syntax)
    return found


def _reindented(lines: Iterable[str]) -> list[str]:
    kept = list(lines)
    depth = min((len(line) - len(line.lstrip()) for line in kept if line.strip()), default=0)
    return [line[depth:] for line in kept]


def _moved_body(lines: tuple[str, ...], function: Function, replacements: list[tuple[Span, str]]) -> str:
    first = function.body[0].span
    span = Span(first.line, first.column, function.span.end_line, function.span.end_column)
    text = " " * (first.column - 1) + slice_text(lines, span, replacements)
    return indent(dedent(text), "    ").rstrip() + "\n"
