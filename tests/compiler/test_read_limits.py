"""Files that would end the parser, or that Python would refuse: one problem at its line, and never more."""

from __future__ import annotations

import pytest

from flowx_compiler.read.guards import LONGEST_CHAIN
from flowx_compiler.read.module import read_expression, read_module
from flowx_compiler.syntax import Directive, Module
from tests.interpreters import IS_SHALLOW, LONG_CHAIN

MANY = 4 * LONGEST_CHAIN


def read(source: str | bytes) -> Module:
    return read_module("m", "m.py", source if isinstance(source, bytes) else source.encode(), is_package=False)


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("flow" + ".step(a)" * MANY, id="calls"),
        pytest.param("(flow" + "\n.step(a)" * MANY + ")", id="calls on many lines"),
        pytest.param("f" + "()" * MANY, id="calls of calls"),
        pytest.param("rows" + "[0]" * MANY, id="subscripts"),
        pytest.param("a" + ".b" * MANY, id="attributes"),
        pytest.param("+".join("a" * MANY), id="terms"),
        pytest.param("not " * MANY + "a", id="negations"),
        pytest.param("f(" * MANY + ")" * MANY, id="nesting"),
        pytest.param("[" * 300 + "]" * 300, id="displays"),
        pytest.param("f'{a" + ".step(b)" * MANY + "}'", id="calls in an f-string"),
        pytest.param("lambda: " * MANY + "1", id="lambdas"),
        pytest.param(" if a else ".join("b" * MANY), id="conditionals"),
    ],
)
def test_an_expression_that_would_overflow_the_parser_is_refused_unread(expression: str) -> None:
    module = read(f"import flowx_runtime\nx = {expression}\n")

    assert [problem.id for problem in module.problems] == ["FLOWX1282"]
    assert module.problems[0].span.line >= 2


@pytest.mark.parametrize(
    "source",
    [
        # The parser takes quadratic time for a chain.
        pytest.param("x = flow" + ".step(a)" * LONG_CHAIN + "\n", id="many calls", marks=pytest.mark.slow),
        pytest.param("x = [" + ",".join("a" * MANY) + "]\n", id="many elements"),
        pytest.param("f(a)\n" * MANY, id="many statements"),
        pytest.param("if a: pass\n" + "elif b: pass\n" * (LONG_CHAIN if IS_SHALLOW else MANY), id="a long ladder"),
        pytest.param("x = (" + " ".join(["'a.b'"] * 500) + ")\n", id="joined texts"),
        pytest.param("x = " + " < ".join("a" * 500) + "\n", id="comparisons"),
    ],
)
def test_what_is_merely_long_is_read(source: str) -> None:
    module = read(source)

    assert module.problems == ()
    assert module.body


@pytest.mark.parametrize(
    ("source", "id", "line"),
    [
        pytest.param(b"a = 1\nb = '\\xZZ'\n", "FLOWX1280", 2, id="broken escape"),
        pytest.param(b"a = 1\nb = '\\N{no such letter}'\n", "FLOWX1280", 2, id="unknown letter"),
        pytest.param("a = 1\nb = b'é'\n".encode(), "FLOWX1280", 2, id="letter in bytes"),
        pytest.param(b"a = 1\nb = " + b"9" * 5000 + b"\n", "FLOWX1280", 2, id="number of too many digits"),
        pytest.param(b"a = 1\nb = 'a' b'b'\n", "FLOWX1280", 2, id="text and bytes"),
        pytest.param(b"a = 1\ndef f(:\n", "FLOWX1280", 2, id="syntax"),
        pytest.param(b"a = 1\nx = (1,\n", "FLOWX1280", 2, id="unclosed"),
        pytest.param(b"a = 1\n\x00\n", "FLOWX1281", 2, id="NUL"),
        pytest.param(b"a = 1\nb = 2\nc = 3 # \xff\n", "FLOWX1281", 3, id="byte"),
        pytest.param(b"# \xff\n", "FLOWX1281", 1, id="byte where an encoding may stand"),
        pytest.param(b"# coding: nothing\n", "FLOWX1281", 1, id="unknown encoding"),
        pytest.param("x = 1\n".encode("utf-16"), "FLOWX1281", 1, id="UTF-16"),
    ],
)
def test_what_python_would_refuse_is_one_problem_on_its_line(source: bytes, id: str, line: int) -> None:
    module = read(source)

    assert [(problem.id, problem.span.line) for problem in module.problems] == [(id, line)]
    assert module.body == ()


def test_an_undecodable_byte_is_named_with_its_offset() -> None:
    assert read(b"# \xff\n").problems[0].message == "byte 2 (0xff) is not utf-8"


def test_a_declared_encoding_is_used() -> None:
    assert read(b"# -*- coding: latin-1 -*-\nx = '\xe9'\n").lines[1] == "x = 'é'"


def test_a_form_feed_before_a_statement_changes_neither_meaning_nor_texts() -> None:
    module = read("\fdef f():\n    a = 'b\fc'\n\f    return a\n\f\nx = 1\n")

    assert module.problems == ()
    assert [type(statement).__name__ for statement in module.body] == ["Function", "Assign"]
    assert module.lines[1] == "    a = 'b\fc'"


def test_directives_are_comments_alone() -> None:
    module = read(
        "x = 1  # flowx: ignore[FLOWX1012] because\n"
        "# noqa: E501  # flowx: ignore[FLOWX1, FLOWX2] two  # noqa\n"
        "y = '# flowx: ignore[FLOWX3] no'\n"
        "'''\n# flowx: ignore[FLOWX4] no\n'''\n"
        "z = f\"{'#'} # flowx: ignore[FLOWX5] no\"\n"
        "# flowx: ignore\n"
    )

    assert [summary(directive) for directive in module.directives] == [
        (("FLOWX1012",), "because", 1, False),
        (("FLOWX1", "FLOWX2"), "two", 2, True),
    ]


def summary(directive: Directive) -> tuple[tuple[str, ...], str, int, bool]:
    return directive.ids, directive.reason, directive.span.line, directive.own_line


@pytest.mark.parametrize("text", ["list[", "a b", "", "x = 1", ")("])
def test_the_text_of_no_expression_is_none(text: str) -> None:
    assert read_expression(text) is None
