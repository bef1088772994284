"""LibCST expressions to `syntax` expressions."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import libcst as cst

from flowx_compiler.read.identifiers import identifier
from flowx_compiler.read.positions import Positions
from flowx_compiler.read.shapes import target_shape
from flowx_compiler.syntax import (
    Argument,
    Attribute,
    Call,
    Compound,
    Constant,
    Display,
    Expr,
    Lambda,
    Name,
    Operation,
    Parameter,
    Span,
    Subscript,
)

_OPERATORS: Mapping[type[cst.CSTNode], str] = {
    cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/", cst.FloorDivide: "//", cst.Modulo: "%",
    cst.Power: "**", cst.MatrixMultiply: "@", cst.BitAnd: "&", cst.BitOr: "|", cst.BitXor: "^",
    cst.LeftShift: "<<", cst.RightShift: ">>", cst.Not: "not", cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~",
    cst.LessThan: "<", cst.LessThanEqual: "<=", cst.GreaterThan: ">", cst.GreaterThanEqual: ">=", cst.Equal: "==",
    cst.In: "in", cst.Is: "is", cst.NotIn: "not in", cst.IsNot: "is not", cst.NotEqual: "!=",
}  # fmt: skip

_COMPREHENSIONS: Mapping[type[cst.CSTNode], str] = {
    cst.ListComp: "list_comprehension",
    cst.SetComp: "set_comprehension",
    cst.DictComp: "dict_comprehension",
    cst.GeneratorExp: "generator",
}


class InvalidLiteral(Exception):
    """A literal that LibCST accepts and Python does not: a broken escape, a number of too many digits."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


class Expressions:
    """Converts expressions of one module."""

    def __init__(self, positions: Positions, lines: Sequence[str]) -> None:
        self._positions = positions
        self._lines = lines

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node stands."""
        return Span(*self._positions[id(node)])

    def convert(self, node: cst.BaseExpression) -> Expr:
        """Convert one expression. A call chain is walked in a loop: its depth is its length."""
        links: list[cst.BaseExpression] = []
        while isinstance(node, cst.Call | cst.Attribute | cst.Subscript):
            links.append(node)
            node = node.func if isinstance(node, cst.Call) else node.value
        expression = self._atom(node)
        for link in reversed(links):
            span = self.span(link)
            if isinstance(link, cst.Call):
                expression = Call(expression, tuple(self.argument(argument) for argument in link.args), span)
            elif isinstance(link, cst.Attribute):
                expression = Attribute(expression, identifier(link.attr), self.span(link.attr), span)
            elif isinstance(link, cst.Subscript):
                expression = Subscript(expression, self._subscript_items(link), span)
        return expression

    def argument(self, node: cst.Arg) -> Argument:
        """Convert an argument; its span is the value's."""
        value = self.convert(node.value)
        keyword = identifier(node.keyword) if node.keyword is not None else None
        return Argument(value, keyword, node.star, self.span(node.value))

    def parameters(self, node: cst.Parameters) -> tuple[Parameter, ...]:
        """Convert parameters in the order of the source."""
        found = [self._parameter(parameter, "positional_only") for parameter in node.posonly_params]
        found += [self._parameter(parameter, "positional") for parameter in node.params]
        if isinstance(node.star_arg, cst.Param):
            found.append(self._parameter(node.star_arg, "var_positional"))
        found += [self._parameter(parameter, "keyword_only") for parameter in node.kwonly_params]
        if node.star_kwarg is not None:
            found.append(self._parameter(node.star_kwarg, "var_keyword"))
        return tuple(found)

    def bound_names(self, node: cst.BaseExpression) -> tuple[str, ...]:
        """The names that a target binds."""
        match node:
            case cst.Name():
                return (identifier(node),)
            case cst.Tuple() | cst.List():
                return tuple(name for element in node.elements for name in self.bound_names(element.value))
            case cst.StarredElement():
                return self.bound_names(node.value)
            case _:
                return ()

    def _parameter(self, node: cst.Param, kind: str) -> Parameter:
        annotation = self.convert(node.annotation.annotation) if node.annotation is not None else None
        default = self.convert(node.default) if node.default is not None else None
        return Parameter(identifier(node.name), annotation, default, kind, self.span(node.name))

    def _subscript_items(self, node: cst.Subscript) -> tuple[Expr, ...]:
        items: list[Expr] = []
        for element in node.slice:
            match element.slice:
                case cst.Index(value=value, star=str("*")):
                    items.append(self._compound("starred", (value,), self.span(element)))
                case cst.Index(value=value):
                    items.append(self.convert(value))
                case cst.Slice() as part:
                    span = self.span(part)
                    bounds = tuple(
                        Constant(None, span) if bound is None else self.convert(bound)
                        for bound in (part.lower, part.upper, part.step)
                    )
                    items.append(Compound("slice", bounds, (), span))
        return tuple(items)

    def _atom(self, node: cst.BaseExpression) -> Expr:
        span = self.span(node)
        match node:
            case cst.Name(value="True" | "False" | "None"):
                return Constant({"True": True, "False": False, "None": None}[node.value], span)
            case cst.Name():
                return Name(identifier(node), span)
            case cst.Integer() | cst.Float() | cst.Imaginary() | cst.SimpleString():
                return _literal(node.value, span)
            case cst.ConcatenatedString():
                return self._concatenation(node, span)
            case cst.FormattedString():
                shape = "raw" if "r" in node.prefix.lower() else ""
                return Compound("f_string", tuple(self._formatted(node.parts)), (), span, shape)
            case cst.Lambda():
                return Lambda(self.parameters(node.params), self.convert(node.body), span)
            case cst.Tuple() | cst.List() | cst.Set():
                kind = type(node).__name__.lower()
                return Display(kind, tuple(self._element(element) for element in node.elements), span)
            case cst.Dict():
                return Display("dict", tuple(self._pairs(node.elements)), span)
            case cst.Comparison():
                operators = tuple(_operator(target.operator) for target in node.comparisons)
                operands = (node.left, *(target.comparator for target in node.comparisons))
                return Operation("compare", operators, self._all(operands), span)
            case cst.BooleanOperation():
                kind = "and" if isinstance(node.operator, cst.And) else "or"
                return Operation(kind, (kind,), self._flat_boolean(node), span)
            case cst.UnaryOperation(operator=cst.Not()):
                return Operation("not", ("not",), (self.convert(node.expression),), span)
            case cst.UnaryOperation():
                return self._unary(node, span)
            case cst.BinaryOperation():
                return self._binary(node)
            case cst.IfExp():
                return Operation("conditional", (), self._all((node.body, node.test, node.orelse)), span)
            case cst.Await():
                return self._compound("await", (node.expression,), span)
            case cst.Yield(value=cst.From() as source):
                return self._compound("yield_from", (source.item,), span)
            case cst.Yield():
                return self._compound(
                    "yield", (node.value,) if isinstance(node.value, cst.BaseExpression) else (), span
                )
            case cst.NamedExpr():
                bound = self.bound_names(node.target)
                return Compound("walrus", (self.convert(node.value),), bound, span)
            case cst.GeneratorExp() | cst.ListComp() | cst.SetComp() | cst.DictComp():
                return self._comprehension(node, span)
            case cst.Ellipsis():
                return Compound("ellipsis", (), (), span)
            case _:
                # A kind this module does not know by name: its text stands for what its expressions do not say.
                text = Constant(" ".join(self._lines[span.line - 1 : span.end_line]), span)
                return Compound("template_string", (text, *self._all(_expressions_below(node))), (), span)

    def _all(self, nodes: Sequence[cst.BaseExpression]) -> tuple[Expr, ...]:
        return tuple(self.convert(node) for node in nodes)

    def _compound(self, kind: str, parts: Sequence[cst.BaseExpression], span: Span) -> Compound:
        return Compound(kind, self._all(parts), (), span)

    def _element(self, element: cst.BaseElement) -> Expr:
        if isinstance(element, cst.StarredElement):
            return self._compound("starred", (element.value,), self.span(element))
        return self.convert(element.value)

    def _pairs(self, elements: Sequence[cst.BaseDictElement]) -> Sequence[Expr]:
        pairs: list[Expr] = []
        for element in elements:
            match element:
                case cst.DictElement():
                    pairs += [self.convert(element.key), self.convert(element.value)]
                case _:
                    starred = self._compound("starred", (element.value,), self.span(element))
                    pairs += [starred, starred]
        return pairs

    def _concatenation(self, node: cst.ConcatenatedString, span: Span) -> Expr:
        parts: list[cst.BaseExpression] = []
        rest: cst.BaseExpression = node
        while isinstance(rest, cst.ConcatenatedString):
            parts.append(rest.left)
            rest = rest.right
        parts.append(rest)
        converted = self._all(parts)
        values = [part.value for part in converted if isinstance(part, Constant)]
        if len(values) < len(converted):
            return Compound("f_string", converted, (), span)
        texts = [value for value in values if isinstance(value, str)]
        pieces = [value for value in values if isinstance(value, bytes)]
        if texts and pieces:
            raise InvalidLiteral("cannot mix bytes and nonbytes literals", span)
        return Constant("".join(texts) if texts else b"".join(pieces), span)

    def _unary(self, node: cst.UnaryOperation, span: Span) -> Expr:
        operand = self.convert(node.expression)
        match operand:
            case Constant(value=int() | float() as number) if isinstance(node.operator, cst.Minus):
                return Constant(-number, span)
        return Operation("unary", (_operator(node.operator),), (operand,), span)

    def _flat_boolean(self, node: cst.BooleanOperation) -> tuple[Expr, ...]:
        """`a and b and c` leans left as deep as it is long; it becomes one operation of three operands."""
        operands: list[cst.BaseExpression] = []
        left: cst.BaseExpression = node
        while isinstance(left, cst.BooleanOperation) and type(left.operator) is type(node.operator):
            operands.append(left.right)
            left = left.left
        operands.append(left)
        return self._all(operands[::-1])

    def _binary(self, node: cst.BinaryOperation) -> Expr:
        links: list[cst.BinaryOperation] = []
        left: cst.BaseExpression = node
        while isinstance(left, cst.BinaryOperation):
            links.append(left)
            left = left.left
        expression = self.convert(left)
        for link in reversed(links):
            operands = (expression, self.convert(link.right))
            expression = Operation("binary", (_operator(link.operator),), operands, self.span(link))
        return expression

    def _comprehension(self, node: cst.BaseComp, span: Span) -> Expr:
        bound: list[str] = []
        parts: list[Expr] = []
        shapes: list[str] = []
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            bound += self.bound_names(clause.target)
            shapes.append(target_shape(clause.target))
            iterated = self.convert(clause.iter)
            is_async = clause.asynchronous is not None
            parts.append(Compound("await", (iterated,), (), iterated.span) if is_async else iterated)
            parts += [self._compound("condition", (item.test,), self.span(item.test)) for item in clause.ifs]
            clause = clause.inner_for_in
        if isinstance(node, cst.DictComp):
            parts += [self.convert(node.key), self.convert(node.value)]
        elif isinstance(node, cst.BaseSimpleComp):
            parts.append(self.convert(node.elt))
        shape = ";".join(shapes) if any(shapes) else ""
        return Compound(_COMPREHENSIONS[type(node)], tuple(parts), tuple(bound), span, shape)

    def _formatted(self, contents: Sequence[cst.BaseFormattedStringContent]) -> list[Expr]:
        """The expressions of an f-string, with its text, conversions and format specifications as constants."""
        parts: list[Expr] = []
        for content in contents:
            match content:
                case cst.FormattedStringText():
                    parts.append(Constant(content.value, self.span(content)))
                case cst.FormattedStringExpression():
                    parts.append(self.convert(content.expression))
                    detail = f"{content.conversion or ''}{'=' if content.equal is not None else ''}"
                    parts.append(Constant(detail, self.span(content)))
                    parts += self._formatted(content.format_spec or ())
                case _:
                    pass
        return parts


def _literal(text: str, span: Span) -> Constant:
    try:
        return Constant(ast.literal_eval(text), span)
    except (SyntaxError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InvalidLiteral(reason, span) from error


def _operator(node: cst.CSTNode) -> str:
    return _OPERATORS[type(node)]


def _expressions_below(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The outermost expressions inside a node of a kind this module does not know by name."""
    found: list[cst.BaseExpression] = []
    for child in node.children:
        if isinstance(child, cst.BaseExpression):
            found.append(child)
        else:
            found += _expressions_below(child)
    return found
