"""Whole modules with marks: a rule speaks on each marked line, and on no other.

A file of `diagnostics` is a flow module over the declarations of the rules' examples. `# expect: FLOWX1044` marks a
line that gets exactly that; `x` stands for any digit; a file without marks is one that a careful author writes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.rules.examples import shop
from flowx_compiler.rules.run import run_rules

FILES = sorted((Path(__file__).parent / "diagnostics").glob("*.py.txt"))
MARK = re.compile(r"# expect: (?P<ids>FLOWX[\dx]+(, FLOWX[\dx]+)*)$")


def marks(text: str) -> list[tuple[int, str]]:
    return [
        (number, id)
        for number, line in enumerate(text.splitlines(), 1)
        if (mark := MARK.search(line)) is not None
        for id in mark["ids"].split(", ")
    ]


def findings(text: str) -> list[tuple[int, str]]:
    files = (SourceFile("shop", "shop.py", shop().encode()), SourceFile("case", "case.py", text.encode()))
    return [
        (finding.place.span.line, finding.id)
        for finding in run_rules(link(Sources.of(files)))
        if finding.place.file == "case.py"
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.removesuffix(".py.txt"))
def test_each_marked_line_gets_what_it_expects(file: Path):
    text = file.read_text("utf-8")
    expected, found = marks(text), findings(text)

    assert [line for line, _ in found] == [line for line, _ in expected], found
    for (_, pattern), (_, id) in zip(sorted(expected), sorted(found), strict=True):
        assert re.fullmatch(pattern.replace("x", r"\d"), id)
