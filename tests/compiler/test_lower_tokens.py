"""Tokens: the same on every Python, and nothing lost."""

from __future__ import annotations

import io
import tokenize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowx_compiler.lower.source_text import reindented
from flowx_compiler.lower.tokens import tokens

PIECES = st.sampled_from(
    ["a", "if", "1", "0x1f", "1.5e-3j", ".5", "'x'", '"a # b"', 'r"\\d"', "b'\\''", "u'é'", "...", "**", "//", ":=",
     "->", "!=", "<<", "@", ",", "é_1", "not", '"""two\nlines"""', "# comment\n", "\\\n"]
)  # fmt: skip


def texts(source: str) -> list[str]:
    return [token.text for token in tokens(source)]


@settings(max_examples=200, derandomize=True)
@given(st.lists(PIECES, max_size=12))
def test_they_are_those_of_the_standard_tokenizer(pieces: list[str]) -> None:
    # A comment ends its line, and a continued line is followed by something; both only in brackets or mid-line.
    source = "(" + " ".join(pieces) + " z)"
    layout = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER)
    standard = [
        token.string for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type not in layout
    ]
    assert texts(source) == standard


@pytest.mark.parametrize(
    "literal",
    [
        "f'{a}'",
        'f"{a!r:>{width}}"',
        "f'{{not a field}} {a}'",
        "rf'\\d{a}'",
        'F"{a:{b}.{c}}"',
        'f"{d["key"]}"',
        'f"{f"{inner}"} and {"}"}"',
        "f'''two\n{lines}'''",
        'f"{x:%Y-%m-%d}"',
        'f"{(lambda x: x)(1)}"',
        'f"\\N{BULLET} {a}"',
        't"{a}"',
    ],
)
def test_a_string_with_fields_is_one_token(literal: str) -> None:
    assert texts(f"g({literal}, 1)") == ["g", "(", literal, ",", "1", ")"]


def test_a_keyword_before_a_string_is_no_prefix() -> None:
    assert texts("1 if'a'else'b'") == ["1", "if", "'a'", "else", "'b'"]


def test_moving_statements_leaves_the_lines_of_strings_where_they_are() -> None:
    text = '        a = """x\n  y\n"""\n\n    # low comment\n        if a:\n            return a'
    assert reindented(text, "    ") == '    a = """x\n  y\n"""\n\n    # low comment\n    if a:\n        return a'
