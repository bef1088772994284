"""Reads one file: bytes to `syntax.Module`, whatever the bytes are."""

from __future__ import annotations

import ast
import io
import re
import sys
import threading
import tokenize
import warnings
from collections.abc import Callable
from typing import TypeVar

import libcst as cst

from flowx_compiler.read.directives import find_directives
from flowx_compiler.read.expressions import Expressions, InvalidLiteral
from flowx_compiler.read.guards import comment_starts, too_complex
from flowx_compiler.read.positions import positions
from flowx_compiler.read.statements import Statements
from flowx_compiler.syntax import Expr, ExprStatement, Module, Problem, Span, Stmt

T = TypeVar("T")

CANNOT_PARSE = "FLOWX1280"
CANNOT_DECODE = "FLOWX1281"
TOO_COMPLEX = "FLOWX1282"

_STACK_BYTES = 256 * 1024 * 1024
_RECURSION_LIMIT = 60_000
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_POSITION = re.compile(r"^(?:parser|tokenizer) error: (?:error at \d+:\d+: )?")
_START = Span(1, 1, 1, 1)
_thread = threading.local()


def read_module(name: str, file: str, source: bytes, *, is_package: bool) -> Module:
    """Read one file. Never raises for what the file holds: what cannot be read is a problem of the module."""
    try:
        text = _decode(source)
    except (UnicodeDecodeError, SyntaxError, LookupError) as error:
        return _unreadable(name, file, (), _decoding_problem(source, error), is_package=is_package)
    # One form for every newline convention: a CRLF checkout must compile to the same bytes.
    text = _LINE_ENDS.sub("\n", text)
    lines = tuple(text.split("\n"))
    problem = _guard(text, lines)
    if problem is not None:
        return _unreadable(name, file, lines, problem, is_package=is_package)
    try:
        body, lines = with_deep_stack(lambda: _parse(text, lines))
    except cst.ParserSyntaxError as error:
        at = (error.raw_line, error.raw_column + 1)
        return _unreadable(name, file, lines, _syntax_problem(error.message, at, text, lines), is_package=is_package)
    except cst.CSTValidationError as error:
        return _unreadable(name, file, lines, _syntax_problem(str(error), (1, 1), text, lines), is_package=is_package)
    except InvalidLiteral as error:
        problem = _not_python(error.reason, error.span)
        return _unreadable(name, file, lines, problem, is_package=is_package)
    except (RecursionError, MemoryError):
        message = "this file nests expressions deeper than the compiler reads"
        return _unreadable(name, file, lines, _too_complex(message, _START), is_package=is_package)
    directives = find_directives(lines, comment_starts(text)) if "flowx:" in text else ()
    return Module(name, file, is_package, body, lines, directives, ())


def read_expression(text: str) -> Expr | None:
    """Read the text of one expression, as a string annotation holds it; `None` where it is none."""
    module = read_module("", "", f"{text.strip()}\n".encode(), is_package=False)
    match module.body:
        case (ExprStatement(value=value),):
            return value
        case _:
            return None


def _decode(source: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return source.decode(encoding)


def _parse(text: str, lines: tuple[str, ...]) -> tuple[tuple[Stmt, ...], tuple[str, ...]]:
    """The statements, and the lines that their spans are positions in."""
    tree = cst.parse_module(text)
    if "\f" in text:
        # LibCST drops a form feed that stands before the indentation of a statement; excerpts and lifted code
        # are cut from the lines as it has them.
        lines = tuple(tree.code.split("\n"))
    expressions = Expressions(positions(tree), lines)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python warns about in a literal is for whoever runs the code
        return Statements(expressions, lines).convert(tree.body), lines


def _guard(text: str, lines: tuple[str, ...]) -> Problem | None:
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        return Problem(CANNOT_DECODE, f"there is a NUL byte on line {line}", "remove it", _line_span(line, lines))
    found = too_complex(text)
    return None if found is None else _too_complex(found[1], _line_span(found[0], lines))


def _too_complex(reason: str, span: Span) -> Problem:
    return Problem(TOO_COMPLEX, reason, "split it into several statements", span)


def _syntax_problem(message: str, at: tuple[int, int], text: str, lines: tuple[str, ...]) -> Problem:
    line, column = at
    reason = _POSITION.sub("", message.partition("\n")[0]).strip().rstrip(".")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # LibCST points behind the mistake; where the running Python agrees that there is one, it points at it.
            compile(text, "<source>", "exec", ast.PyCF_ONLY_AST)
    except SyntaxError as exact:
        line, column, reason = exact.lineno or line, exact.offset or column, exact.msg
    except (ValueError, RecursionError, MemoryError):
        pass
    line = min(max(line, 1), len(lines))
    column = min(max(column, 1), len(lines[line - 1]) + 1)
    return _not_python(reason, Span(line, column, line, column + 1))


def _not_python(reason: str, span: Span) -> Problem:
    return Problem(CANNOT_PARSE, f"this is not Python: {reason}", "mend the syntax; the other files were checked", span)


def _decoding_problem(source: bytes, error: Exception) -> Problem:
    if isinstance(error, SyntaxError):
        # A bad byte on the first two lines looks like a bad declaration of the encoding.
        try:
            source.decode("utf-8")
        except UnicodeDecodeError as exact:
            error = exact
    if isinstance(error, UnicodeDecodeError):
        line = source[: error.start].count(b"\n") + 1
        message = f"byte {error.start} (0x{source[error.start]:02x}) is not {error.encoding}"
        return Problem(
            CANNOT_DECODE, message, "save the file as UTF-8, or declare its encoding", Span(line, 1, line, 1)
        )
    return Problem(CANNOT_DECODE, f"the file's encoding is not known: {error}", "save the file as UTF-8", _START)


def _line_span(line: int, lines: tuple[str, ...]) -> Span:
    return Span(line, 1, line, len(lines[line - 1]) + 1)


def _unreadable(name: str, file: str, lines: tuple[str, ...], problem: Problem, *, is_package: bool) -> Module:
    return Module(name, file, is_package, (), lines, (), (problem,))


def with_deep_stack(work: Callable[[], T]) -> T:
    """Run in a thread whose stack holds the deepest tree that the guards let through; here, if this is one already."""
    if getattr(_thread, "is_deep", False):
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        _thread.is_deep = True
        try:
            outcome.append(work())
        except BaseException as error:  # carried to the calling thread below
            failure.append(error)

    earlier_limit, earlier_size = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
    sys.setrecursionlimit(max(earlier_limit, _RECURSION_LIMIT))
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(earlier_size)
        sys.setrecursionlimit(earlier_limit)
    if failure:
        raise failure[0]
    return outcome[0]
