"""Encodings, newlines, syntax, positions and environments: one test per number (D3 to D7, D10, C8 to C10)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flowx_compiler.emit.manifest import emit_manifest
from flowx_compiler.emit.plan_module import emit_plan
from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.lower import lower
from flowx_compiler.model import Program
from flowx_compiler.rules.examples import example_text, shop
from flowx_compiler.rules.rule import Example
from flowx_compiler.rules.run import run_rules

ROOT = Path(__file__).parents[2]
GOOD = example_text(Example("flow.step(open_review)  # ein Prüfer"))
BAD = example_text(Example("flow.step(nudge_job, lambda ctx: ctx.input)\nflow.step(shipp)"))


def program_of(source: bytes) -> Program:
    files = (SourceFile("shop", "shop.py", shop().encode()), SourceFile("example", "example.py", source))
    return link(Sources.of(files))


def plan_of(source: bytes) -> str:
    program = program_of(source)
    return emit_plan(lower(program, program.flows["example.Example"]))


def place(source: bytes, id: str) -> tuple[int, int]:
    (finding,) = [item for item in run_rules(program_of(source)) if item.id == id]
    return finding.place.span.line, finding.place.span.column


def test_d03_a_byte_order_mark_moves_no_column() -> None:
    assert place(b"\xef\xbb\xbf" + BAD.encode(), "FLOWX1275") == place(BAD.encode(), "FLOWX1275")
    assert plan_of(b"\xef\xbb\xbf" + GOOD.encode()) == plan_of(GOOD.encode())


def test_d04_newline_conventions_give_one_plan() -> None:
    lines = GOOD.split("\n")
    mixed = "".join(line + ("\r\n" if number % 2 else "\n") for number, line in enumerate(lines))
    assert plan_of(GOOD.encode()) == plan_of(GOOD.replace("\n", "\r\n").encode()) == plan_of(mixed.encode())


def test_d05_an_undecodable_byte_is_one_finding_that_names_it_and_the_rest_is_checked() -> None:
    broken = SourceFile("broken", "broken.py", b"import flowx_runtime\n# caf\xe9\n")
    files = (
        SourceFile("shop", "shop.py", shop().encode()),
        SourceFile("example", "example.py", BAD.encode()),
        broken,
    )
    findings = run_rules(link(Sources.of(files)))
    (mine,) = [item for item in findings if item.place.file == "broken.py"]
    assert mine.id == "FLOWX1281"
    assert "0xe9" in mine.message
    assert "FLOWX1275" in {item.id for item in findings if item.place.file == "example.py"}


SYNTAX = {
    "match": "match 1:\n    case int(x) if x:\n        pass\n",
    "PEP 604": "x: int | None = None\n",
    "PEP 646": "def f(*args: *tuple[int]) -> None: ...\n",
    "PEP 695": "type Pair[T] = tuple[T, T]\ndef first[T](x: T) -> T: return x\n",
    "PEP 696": "class Box[T = int]: ...\n",
    "PEP 701": "x = f'{'a' + f'{1}'}'\n",
    "PEP 758": "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
    "PEP 654": "try:\n    pass\nexcept* ValueError:\n    pass\n",
    "PEP 614": "@(lambda f: f)\ndef f(): ...\n",
    "parenthesised with": "with (open('a') as a, open('b') as b):\n    pass\n",
    "walrus": "if (n := 1) > 0:\n    pass\n",
    "positional only": "def f(a, /, b, *, c): ...\n",
    "async": "async def f():\n    async with a as b:\n        async for x in y:\n            await z\n",
}


@pytest.mark.parametrize("feature", SYNTAX)
def test_d06_new_syntax_beside_a_flow_is_read(feature: str) -> None:
    source = GOOD.replace("\n\n@flow", f"\n{SYNTAX[feature]}\n\n@flow", 1)
    assert source != GOOD
    program = program_of(source.encode())
    assert program.problems == ()
    assert "example.Example" in program.flows


def test_d07_a_file_without_flows_may_hold_any_syntax() -> None:
    files = (
        SourceFile("shop", "shop.py", shop().encode()),
        SourceFile("example", "example.py", GOOD.encode()),
        SourceFile("other", "other.py", b"this is (not python\n"),
    )
    assert run_rules(link(Sources.of(files))) == ()
    in_a_flow_file = program_of(GOOD.encode() + b"\nthis is (not python\n")
    assert [item.id for item in run_rules(in_a_flow_file)] == ["FLOWX1280"]


PREFIXES = {
    "leading comments": "# one\n# two\n\n",
    "form feed": "\f\n",
    "emoji and wide letters": "flag = '\U0001f3f3 ü 漢'; ",
    "continuation": "total = 1 + \\\n    2\n",
}


@pytest.mark.parametrize("prefix", PREFIXES)
def test_d10_columns_are_those_of_an_editor(prefix: str) -> None:
    source = PREFIXES[prefix] + BAD
    line, column = place(source.encode(), "FLOWX1275")
    text = source.replace("\f", " ").split("\n")[line - 1]
    assert text[column - 1 :].startswith("shipp")


def test_d10_a_tab_is_one_column() -> None:
    source = BAD.replace("        flow.", "\t\tflow.").replace("    def define", "\tdef define")
    line, column = place(source.encode(), "FLOWX1275")
    assert source.split("\n")[line - 1][column - 1 :].startswith("shipp")


MANIFEST = """
import sys
sys.path.insert(0, {root!r})
from flowx_compiler.emit.manifest import emit_manifest
from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.lower import lower
source = open({file!r}, "rb").read()
program = link(Sources.of([SourceFile("app", "app.py", source)]))
plans = [lower(program, flow) for flow in program.flows.values()]
sys.stdout.write(emit_manifest("app", program, plans))
"""
SETS = """\
from enum import Enum
from flowx_runtime import Contract, Flow, FlowBuilder, Internal, Profile, StepContext, capability, flow

class Colour(Enum):
    RED = "red"
    BLUE = "blue"
    GREEN = "green"

class Request(Contract):
    tags: set[str] = {"a", "b", "c"}
    colours: frozenset[Colour] = frozenset({Colour.RED, Colour.BLUE})

@capability("a.b", version="1.0.0", authorization=Internal(), side_effects=("x", "y"))
async def act(request: Request, ctx: StepContext) -> None: ...

@flow("a.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P1D")
class Act(Flow[Request, None]):
    def define(self, flow: FlowBuilder[Request, None]) -> None:
        flow.step(act)
"""


@pytest.mark.slow  # several processes
def test_c08_c09_bytes_do_not_depend_on_hash_seed_zone_language_home_or_folder(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text(SETS, "utf-8")
    program = MANIFEST.format(root=str(ROOT), file=str(file))
    environments: list[dict[str, str]] = [{"PYTHONHASHSEED": str(seed)} for seed in range(4)]
    environments += [{"TZ": "Asia/Tokyo"}, {"LANG": "C", "LC_ALL": "C"}, {"HOME": "/nowhere", "USER": "somebody"}]
    outputs = set()
    for number, extra in enumerate(environments):
        folder = tmp_path / f"cwd-{number}"
        folder.mkdir()
        run = subprocess.run(
            [sys.executable, "-c", program], env=os.environ | extra, cwd=folder, capture_output=True, check=True
        )
        outputs.add(run.stdout)
    assert len(outputs) == 1


def test_c10_generated_text_names_no_time_version_of_tools_or_place(linked: Callable[..., Program]) -> None:
    program = linked(app=SETS)
    plans = [lower(program, flow) for flow in program.flows.values()]
    for text in (emit_plan(plans[0]), emit_manifest("app", program, plans)):
        assert "202" not in re.sub(r'"[0-9a-f]{16,64}"', "", text)
        assert str(ROOT) not in text
        assert sys.version.split()[0] not in text
