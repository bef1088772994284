"""Where things stand: the text at a name's span is the name, whatever surrounds it."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from flowx_compiler.read.module import read_module
from flowx_compiler.syntax import Attribute, Constant, Module, Name, Span

unhurried = settings(max_examples=60)
NAMES = st.sampled_from(["cap", "étape", "中文", "_x1", "x̂", "flow"])
GAPS = st.sampled_from(["", " ", "\t", "  ", " \\\n  ", "\f"])
BREAKS = st.sampled_from(["", " ", "\n", "\r\n", "  # é ''' (\n ", "\n\f\n", "\t\n"])
TEXTS = st.sampled_from(["'a'", "'é😀'", '"""two\nlines é"""', "b'x'", "'''#'''", "f'{x!r:>{w}}é'"])
LEADS = st.lists(st.sampled_from(["# é\n", "\n", "\f\n", "'''doc\n'''\n", "x = 1; y = 'é'\n", "\r\n"]), max_size=3)


@st.composite
def chains(draw: st.DrawFn) -> str:
    """A chain of calls over names, texts, lambdas and displays, oddly spaced."""
    text = draw(NAMES)
    for _ in range(draw(st.integers(0, 4))):
        argument = draw(st.one_of(NAMES, TEXTS, st.just("lambda ctx: ctx . a"), st.just("(a,)"), st.just("not a")))
        text += f"{draw(BREAKS)}.{draw(BREAKS)}{draw(NAMES)}{draw(GAPS)}({draw(BREAKS)}{argument}{draw(BREAKS)})"
    return f"({draw(BREAKS)}{text}{draw(BREAKS)})"


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Statements at the top of a module and in an indented function."""
    indent = draw(st.sampled_from([" ", "    ", "\t"]))
    lead = "".join(draw(LEADS))
    target = draw(NAMES)
    return f"{lead}{target}{draw(GAPS)}={draw(GAPS)}{draw(chains())}\ndef f(a):\n{indent}return {draw(chains())}\n"


@unhurried
@given(modules())
def test_the_text_at_a_name_s_span_is_the_name(source: str) -> None:
    module = read_module("m", "m.py", source.encode(), is_package=False)

    assert module.problems == ()
    found = 0
    for node in nodes(module.body):
        if isinstance(node, Name):
            assert text_at(module, node.span) == node.id
        elif isinstance(node, Attribute):
            assert text_at(module, node.attr_span) == node.attr
            assert node.span[:2] == start_of(node)
        elif isinstance(node, Constant) and isinstance(node.value, int):
            assert text_at(module, node.span) == repr(node.value)
        found += 1
    assert found


@unhurried
@given(modules(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_newline_conventions_move_nothing(source: str, newline: str) -> None:
    plain = source.replace("\r\n", "\n").replace("\\\n", "")
    same = read_module("m", "m.py", plain.encode(), is_package=False)
    other = read_module("m", "m.py", plain.replace("\n", newline).encode(), is_package=False)

    assert (same.body, same.lines) == (other.body, other.lines)


@unhurried
@given(modules())
def test_a_byte_order_mark_moves_nothing(source: str) -> None:
    marked = read_module("m", "m.py", b"\xef\xbb\xbf" + source.encode(), is_package=False)

    assert marked == read_module("m", "m.py", source.encode(), is_package=False)


def nodes(part: object) -> Iterator[tuple[object, ...]]:
    if isinstance(part, tuple) and not isinstance(part, Span):
        yield part
        for item in part:
            yield from nodes(item)


def start_of(node: Attribute) -> tuple[int, int]:
    value: object = node
    while isinstance(value, Attribute):
        value = value.value
    assert isinstance(value, tuple)
    span = value[-1]
    assert isinstance(span, Span)
    return span.line, span.column


def text_at(module: Module, span: Span) -> str:
    assert span.line == span.end_line
    return module.lines[span.line - 1][span.column - 1 : span.end_column - 1]
