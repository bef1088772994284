"""Python source as plain data: the small tree that every stage after the reader works on.

No LibCST object leaves the reader. These are named tuples, not dataclasses, because a project has
hundreds of thousands of them and they cross process and cache boundaries: a named tuple is built
and unpickled several times faster.

Lines and columns count from 1; columns count code points, as editors do. `end_column` is exclusive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias


class Span(NamedTuple):
    """A range of source text."""

    line: int
    column: int
    end_line: int
    end_column: int

    def holds(self, inner: Span) -> bool:
        """Whether all of another range lies in this one."""
        return self[:2] <= inner[:2] and inner[2:] <= self[2:]


# --- expressions -----------------------------------------------------------------------------


class Name(NamedTuple):
    """`cap`."""

    id: str
    span: Span


class Attribute(NamedTuple):
    """`value.attr`; `attr_span` is the attribute's name alone."""

    value: Expr
    attr: str
    attr_span: Span
    span: Span


class Argument(NamedTuple):
    """One argument of a call."""

    value: Expr
    keyword: str | None
    star: str
    """`""`, `"*"` or `"**"`."""
    span: Span


class Call(NamedTuple):
    """`function(arguments)`."""

    function: Expr
    arguments: tuple[Argument, ...]
    span: Span


class Constant(NamedTuple):
    """A literal; adjacent strings are joined, a minus before a number is folded in."""

    value: str | bytes | int | float | complex | bool | None
    span: Span


class Parameter(NamedTuple):
    """One parameter of a lambda or function."""

    name: str
    annotation: Expr | None
    default: Expr | None
    kind: str
    """`"positional_only"`, `"positional"`, `"keyword_only"`, `"var_positional"` or `"var_keyword"`."""
    span: Span


class Lambda(NamedTuple):
    """`lambda parameters: body`."""

    parameters: tuple[Parameter, ...]
    body: Expr
    span: Span


class Subscript(NamedTuple):
    """`value[items]`."""

    value: Expr
    items: tuple[Expr, ...]
    span: Span


class Display(NamedTuple):
    """A tuple, list, set or dict display; a dict alternates keys and values."""

    kind: str
    """`"tuple"`, `"list"`, `"set"` or `"dict"`."""
    items: tuple[Expr, ...]
    span: Span


class Operation(NamedTuple):
    """An operator applied to operands."""

    kind: str
    """`"compare"`, `"and"`, `"or"`, `"not"`, `"binary"`, `"unary"` or `"conditional"` (then, test, otherwise)."""
    operators: tuple[str, ...]
    """As spelt: `("<=", "<")`, `("+",)`, `("not in",)`."""
    operands: tuple[Expr, ...]
    span: Span


class Compound(NamedTuple):
    """Any other expression, by its kind and its parts in source order.

    Kinds: `"await"`, `"yield"`, `"yield_from"`, `"walrus"`, `"list_comprehension"`, `"set_comprehension"`,
    `"dict_comprehension"`, `"generator"`, `"condition"` (of a comprehension), `"f_string"` (its text and format
    details are constants), `"template_string"`, `"starred"`, `"slice"` (always three parts), `"ellipsis"`.
    """

    kind: str
    parts: tuple[Expr, ...]
    bound: tuple[str, ...]
    """Names that a comprehension or walrus binds."""
    span: Span
    shape: str = ""
    """What else it depends on: how targets are taken apart (`(a, *b)` is `($,*$)`), that text is raw."""


Expr: TypeAlias = Name | Attribute | Call | Constant | Lambda | Subscript | Display | Operation | Compound


# --- statements ------------------------------------------------------------------------------


class ExprStatement(NamedTuple):
    """An expression as a statement."""

    value: Expr
    span: Span


class Assign(NamedTuple):
    """`targets = value`, annotated or augmented."""

    targets: tuple[Expr, ...]
    value: Expr | None
    annotation: Expr | None
    span: Span
    operator: str = ""
    """Of an augmented one: `+=`."""

    @property
    def augmented(self) -> bool:
        """Whether it changes what the target has."""
        return bool(self.operator)


class Return(NamedTuple):
    """`return value`."""

    value: Expr | None
    span: Span


class Raise(NamedTuple):
    """`raise value from cause`."""

    value: Expr | None
    cause: Expr | None
    span: Span


class ImportedName(NamedTuple):
    """One name of an import."""

    name: str
    """Dotted for `import a.b`; `"*"` for a star import."""
    alias: str | None
    span: Span


class Import(NamedTuple):
    """`import names`, or `from module import names`."""

    module: str | None
    """`None` for `import names`; without the leading dots."""
    level: int
    """How many leading dots."""
    names: tuple[ImportedName, ...]
    span: Span


class Suite(NamedTuple):
    """One block of a compound statement."""

    role: str
    """`"body"`, `"else"`, `"except"`, `"finally"` or `"case"`."""
    expressions: tuple[Expr, ...]
    """What the block's own header evaluates: the exception types, the pattern's values and guard."""
    bound: tuple[str, ...]
    """Names that the header binds (`except E as error`, a case's captures)."""
    body: tuple[Stmt, ...]
    span: Span
    shape: str = ""
    """Of a case: its pattern, with `#` for values and `$` for names."""


class Block(NamedTuple):
    """A compound statement: `if`, `for`, `while`, `try`, `with` or `match`, `async` included.

    An `elif` is an `if` in the `"else"` suite of the one before.
    """

    kind: str
    """`"if"`, `"for"`, `"while"`, `"try"`, `"with"` or `"match"`."""
    expressions: tuple[Expr, ...]
    """The test, the iterable, the subject, the context managers."""
    bound: tuple[str, ...]
    """Names that the header binds (`for x in`, `with … as x`)."""
    suites: tuple[Suite, ...]
    span: Span
    """The header's first line only, so that a finding does not underline a whole body."""
    shape: str = ""
    """How the header's targets are taken apart; `*` of a `try` with `except*`."""


class Function(NamedTuple):
    """A `def`."""

    name: str
    name_span: Span
    decorators: tuple[Expr, ...]
    parameters: tuple[Parameter, ...]
    returns: Expr | None
    body: tuple[Stmt, ...]
    is_async: bool
    docstring: str | None
    text: str
    """The source of the whole definition, decorators excluded, dedented."""
    span: Span
    """From `def` to the end of the last statement."""


class TypeParameter(NamedTuple):
    """One of the type parameters of `class Page[T: bound = default]`."""

    name: str
    bound: Expr | None
    """A display of several for `[T: (int, str)]`."""
    default: Expr | None


class Class(NamedTuple):
    """A `class`."""

    name: str
    name_span: Span
    decorators: tuple[Expr, ...]
    bases: tuple[Argument, ...]
    body: tuple[Stmt, ...]
    docstring: str | None
    span: Span
    type_parameters: tuple[TypeParameter, ...] = ()


class Other(NamedTuple):
    """Any other statement: `pass`, `global`, `del`, `assert`, `break`, `type X = …`."""

    kind: str
    expressions: tuple[Expr, ...]
    names: tuple[str, ...]
    span: Span


Stmt: TypeAlias = ExprStatement | Assign | Return | Raise | Import | Block | Function | Class | Other


class Directive(NamedTuple):
    """A `# flowx: ignore[…]` comment."""

    ids: tuple[str, ...]
    reason: str
    span: Span
    own_line: bool
    """Whether the comment stands alone on its line (and so speaks of what follows it)."""


class Problem(NamedTuple):
    """Something the reader could not read."""

    id: str
    message: str
    help: str
    span: Span


class Module(NamedTuple):
    """One file."""

    name: str
    """Dotted module name, as other modules import it."""
    file: str
    """Path relative to the project root, with `/`."""
    is_package: bool
    body: tuple[Stmt, ...]
    lines: tuple[str, ...]
    """The source's lines without their ends, for excerpts and lifting."""
    directives: tuple[Directive, ...]
    problems: tuple[Problem, ...]


LEAVES = frozenset({Span, str, bool, int, type(None)})
"""Types of parts that have no node below them; most parts are of these."""
_WITHOUT_PARTS = frozenset({Name, Constant, Directive}) | LEAVES


def walk(part: object, outside: frozenset[type] = frozenset()) -> Iterator[object]:
    """Every node below a piece of syntax, the outermost first; a chain is walked without recursion.

    Args:
        part: where to start.
        outside: kinds of nodes that are left out, with everything below them.
    """
    open_parts = [part]
    while open_parts:
        current = open_parts.pop()
        kind = type(current)
        if kind in outside or not isinstance(current, tuple):
            continue
        if kind is not tuple:
            yield current
        if kind not in _WITHOUT_PARTS:
            open_parts += [inner for inner in current[::-1] if type(inner) not in LEAVES]
