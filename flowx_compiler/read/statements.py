"""LibCST statements to `syntax` statements."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import libcst as cst

from flowx_compiler.read.expressions import Expressions
from flowx_compiler.read.identifiers import identifier
from flowx_compiler.read.shapes import pattern_shape, target_shape
from flowx_compiler.syntax import (
    Assign,
    Block,
    Class,
    Constant,
    Expr,
    ExprStatement,
    Function,
    Import,
    ImportedName,
    Other,
    Raise,
    Return,
    Span,
    Stmt,
    Suite,
    TypeParameter,
)

_AUGMENTED = {
    cst.AddAssign: "+=",
    cst.BitAndAssign: "&=",
    cst.BitOrAssign: "|=",
    cst.BitXorAssign: "^=",
    cst.DivideAssign: "/=",
    cst.FloorDivideAssign: "//=",
    cst.LeftShiftAssign: "<<=",
    cst.MatrixMultiplyAssign: "@=",
    cst.ModuloAssign: "%=",
    cst.MultiplyAssign: "*=",
    cst.PowerAssign: "**=",
    cst.RightShiftAssign: ">>=",
    cst.SubtractAssign: "-=",
}


class Statements:
    """Converts statements of one module."""

    def __init__(self, expressions: Expressions, lines: Sequence[str]) -> None:
        self._expressions = expressions
        self._lines = lines

    def convert(self, nodes: Sequence[cst.BaseStatement | cst.BaseSmallStatement]) -> tuple[Stmt, ...]:
        """Convert the statements of one block, in order."""
        found: list[Stmt] = []
        for node in nodes:
            if isinstance(node, cst.SimpleStatementLine):
                found += [self._small(small) for small in node.body]
            elif isinstance(node, cst.BaseSmallStatement):
                found.append(self._small(node))
            else:
                found.append(self._compound(node))
        return tuple(found)

    def _small(self, node: cst.BaseSmallStatement) -> Stmt:
        convert, span = self._expressions.convert, self._expressions.span(node)
        match node:
            case cst.Expr():
                return ExprStatement(convert(node.value), span)
            case cst.Assign():
                targets = tuple(convert(target.target) for target in node.targets)
                return Assign(targets, convert(node.value), annotation=None, span=span)
            case cst.AnnAssign():
                value = convert(node.value) if node.value is not None else None
                return Assign((convert(node.target),), value, convert(node.annotation.annotation), span=span)
            case cst.AugAssign():
                target, value = convert(node.target), convert(node.value)
                operator = _AUGMENTED[type(node.operator)]
                return Assign((target,), value, annotation=None, span=span, operator=operator)
            case cst.Return():
                return Return(convert(node.value) if node.value is not None else None, span)
            case cst.Raise():
                cause = convert(node.cause.item) if node.cause is not None else None
                return Raise(convert(node.exc) if node.exc is not None else None, cause, span)
            case cst.Import():
                return Import(None, 0, self._imported(node.names), span)
            case cst.ImportFrom():
                module = _dotted(node.module) if node.module is not None else ""
                names = (
                    (ImportedName("*", None, span),)
                    if isinstance(node.names, cst.ImportStar)
                    else self._imported(node.names)
                )
                return Import(module, len(node.relative), names, span)
            case cst.Global() | cst.Nonlocal():
                kind = type(node).__name__.lower()
                return Other(kind, (), tuple(identifier(item.name) for item in node.names), span)
            case cst.Del():
                return Other("del", (convert(node.target),), self._expressions.bound_names(node.target), span)
            case cst.Assert():
                parts = [node.test, *([node.msg] if node.msg is not None else [])]
                return Other("assert", tuple(convert(part) for part in parts), (), span)
            case cst.TypeAlias():
                return Assign((convert(node.name),), convert(node.value), annotation=None, span=span)
            case _:
                return Other(type(node).__name__.lower(), (), (), span)

    def _imported(self, aliases: Sequence[cst.ImportAlias]) -> tuple[ImportedName, ...]:
        return tuple(
            ImportedName(
                _dotted(alias.name),
                identifier(alias.asname.name)
                if alias.asname is not None and isinstance(alias.asname.name, cst.Name)
                else None,
                self._expressions.span(alias),
            )
            for alias in aliases
        )

    def _compound(self, node: cst.BaseStatement) -> Stmt:
        match node:
            case cst.FunctionDef():
                return self._function(node)
            case cst.ClassDef():
                return self._class(node)
            case cst.If():
                return self._if(node)
            case cst.For():
                suites = [self._suite("body", node.body), *self._else(node.orelse)]
                bound = self._expressions.bound_names(node.target)
                return self._block("for", node, [node.iter], bound, suites, target_shape(node.target))
            case cst.While():
                return self._block(
                    "while", node, [node.test], (), [self._suite("body", node.body), *self._else(node.orelse)]
                )
            case cst.With():
                targets = [
                    item.asname.name
                    for item in node.items
                    if item.asname is not None and isinstance(item.asname.name, cst.BaseExpression)
                ]
                bound = tuple(name for target in targets for name in self._expressions.bound_names(target))
                suites = [self._suite("body", node.body)]
                shape = "".join(target_shape(target) for target in targets)
                return self._block("with", node, [item.item for item in node.items], bound, suites, shape)
            case cst.Try() | cst.TryStar():
                return self._try(node)
            case cst.Match():
                return self._match(node)
            case _:
                return Other(type(node).__name__.lower(), (), (), self._header(node))

    def _function(self, node: cst.FunctionDef) -> Function:
        span = self._expressions.span(node)
        body = self._body(node.body)
        return Function(
            name=identifier(node.name),
            name_span=self._expressions.span(node.name),
            decorators=tuple(self._expressions.convert(decorator.decorator) for decorator in node.decorators),
            parameters=self._expressions.parameters(node.params),
            returns=self._expressions.convert(node.returns.annotation) if node.returns is not None else None,
            body=body,
            is_async=node.asynchronous is not None,
            docstring=_docstring(body),
            text=self._text_from_def(node, span),
            span=span,
        )

    def _text_from_def(self, node: cst.FunctionDef, span: Span) -> str:
        first = self._expressions.span(node.name).line if node.decorators else span.line
        lines = list(self._lines[first - 1 : span.end_line])
        if lines and span.end_column <= len(lines[-1]):
            lines[-1] = lines[-1][: span.end_column - 1]
        return textwrap.dedent("\n".join(lines)).rstrip() + "\n"

    def _class(self, node: cst.ClassDef) -> Class:
        body = self._body(node.body)
        arguments = (*node.bases, *node.keywords)
        return Class(
            name=identifier(node.name),
            name_span=self._expressions.span(node.name),
            decorators=tuple(self._expressions.convert(decorator.decorator) for decorator in node.decorators),
            bases=tuple(self._expressions.argument(argument) for argument in arguments),
            body=body,
            docstring=_docstring(body),
            span=self._expressions.span(node),
            type_parameters=self._type_parameters(node.type_parameters),
        )

    def _type_parameters(self, node: cst.TypeParameters | None) -> tuple[TypeParameter, ...]:
        convert = self._expressions.convert
        return tuple(
            TypeParameter(
                identifier(parameter.param.name),
                convert(bound) if (bound := getattr(parameter.param, "bound", None)) is not None else None,
                convert(parameter.default) if parameter.default is not None else None,
            )
            for parameter in (() if node is None else node.params)
        )

    def _if(self, node: cst.If) -> Block:
        # A long `elif` ladder is a deep tree; it is built from its end so that its length costs no recursion.
        ladder = [node]
        while isinstance(ladder[-1].orelse, cst.If):
            ladder.append(ladder[-1].orelse)
        last = ladder[-1].orelse
        rest = self._else(last if isinstance(last, cst.Else) else None)
        block: Block | None = None
        for step in reversed(ladder):
            if block is not None:
                rest = [Suite("else", (), (), (block,), block.span)]
            block = self._block("if", step, [step.test], (), [self._suite("body", step.body), *rest])
        assert block is not None, "a ladder has at least one rung"
        return block

    def _try(self, node: cst.Try | cst.TryStar) -> Block:
        suites = [self._suite("body", node.body)]
        for handler in node.handlers:
            expressions = (self._expressions.convert(handler.type),) if handler.type is not None else ()
            bound = (
                self._expressions.bound_names(handler.name.name)
                if handler.name is not None and isinstance(handler.name.name, cst.BaseExpression)
                else ()
            )
            suites.append(Suite("except", expressions, bound, self._body(handler.body), self._header(handler)))
        suites += self._else(node.orelse)
        if node.finalbody is not None:
            suites.append(self._suite("finally", node.finalbody.body))
        return self._block("try", node, [], (), suites, "*" if isinstance(node, cst.TryStar) else "")

    def _match(self, node: cst.Match) -> Block:
        suites = []
        for case in node.cases:
            values, bound = _pattern_parts(case.pattern)
            expressions = [*values, *([case.guard] if case.guard is not None else [])]
            converted = tuple(self._expressions.convert(expression) for expression in expressions)
            header, shape = self._header(case), pattern_shape(case.pattern)
            suites.append(Suite("case", converted, tuple(bound), self._body(case.body), header, shape))
        return self._block("match", node, [node.subject], (), suites)

    def _block(
        self,
        kind: str,
        node: cst.CSTNode,
        expressions: Sequence[cst.BaseExpression],
        bound: tuple[str, ...],
        suites: Sequence[Suite],
        shape: str = "",
    ) -> Block:
        converted: tuple[Expr, ...] = tuple(self._expressions.convert(expression) for expression in expressions)
        return Block(kind, converted, bound, tuple(suites), self._header(node), shape)

    def _suite(self, role: str, node: cst.BaseSuite) -> Suite:
        return Suite(role, (), (), self._body(node), self._expressions.span(node))

    def _else(self, node: cst.If | cst.Else | None) -> list[Suite]:
        return [] if node is None else [self._suite("else", node.body)]

    def _body(self, node: cst.BaseSuite) -> tuple[Stmt, ...]:
        return self.convert(node.body)

    def _header(self, node: cst.CSTNode) -> Span:
        span = self._expressions.span(node)
        if span.line == span.end_line:
            return span
        return Span(span.line, span.column, span.line, len(self._lines[span.line - 1].rstrip()) + 1)


def _docstring(body: Sequence[Stmt]) -> str | None:
    match body:
        case [ExprStatement(value=Constant(value=str(text))), *_]:
            return text
        case _:
            return None


def _dotted(node: cst.BaseExpression) -> str:
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(identifier(node.attr))
        node = node.value
    if isinstance(node, cst.Name):
        parts.append(identifier(node))
    return ".".join(reversed(parts))


def _pattern_parts(node: cst.CSTNode) -> tuple[list[cst.BaseExpression], list[str]]:
    """The values a pattern compares with and the names it captures."""
    values: list[cst.BaseExpression] = []
    names: list[str] = []
    match node:
        case cst.MatchValue():
            values.append(node.value)
        case cst.MatchSingleton():
            values.append(node.value)
        case cst.MatchClass():
            values.append(node.cls)
        case cst.MatchAs() | cst.MatchStar() if node.name is not None:
            names.append(identifier(node.name))
        case cst.MatchMappingElement():
            values.append(node.key)
        case cst.MatchMapping() if node.rest is not None:
            names.append(identifier(node.rest))
        case _:
            pass
    for child in node.children:
        if not isinstance(child, cst.BaseExpression):
            below = _pattern_parts(child)
            values += below[0]
            names += below[1]
    return values, names
