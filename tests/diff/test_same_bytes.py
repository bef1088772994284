"""One source gives one manifest, byte for byte, whatever the interpreter draws and whatever library is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = '''\
import sys
from pathlib import Path

from flowx_compiler.build import compile_sources
from flowx_compiler.config import Config
from flowx_compiler.link.sources import SourceFile

SOURCE = """
from enum import Enum
from typing import Literal
from flowx_runtime import Contract, Flow, FlowBuilder, Internal, StepContext, capability, flow

class Colour(Enum):
    RED = "red"
    GREEN = "green"
    BLUE = "blue"

class Paint(Contract):
    colours: set[Colour] = {Colour.RED, Colour.GREEN, Colour.BLUE}
    rooms: frozenset[str] = frozenset({"hall", "attic", "cellar"})
    finish: Literal["matt", "gloss", "satin"] | None = None
    by_room: dict[str, Colour] = {}

@capability("wall.paint", version="1.0.0", authorization=Internal(), side_effects=("paint", "brush", "tape"))
async def paint(request: Paint, ctx: StepContext) -> Paint: ...

@flow("wall.redo", version="1.0.0")
class Redo(Flow[Paint, Paint]):
    def define(self, flow: FlowBuilder[Paint, Paint]) -> None:
        flow.step(paint)
        flow.returns(lambda ctx: ctx.get(Paint))
"""
config = Config(root=Path(), sources=("app",), plans="plans", application="walls")
built = compile_sources([SourceFile("walls", "walls.py", SOURCE.encode())], config, {})
assert not built.has_errors, [finding.message for finding in built.findings]
for path in sorted(built.files):
    print(path, built.files[path])
assert "pydantic" not in sys.modules
'''


@pytest.mark.slow  # six interpreters, because only a new one has another hash seed
def test_c08_a_contract_with_a_set_and_an_enumeration_is_published_alike_under_every_hash_seed() -> None:
    def started(seed: int) -> subprocess.Popen[str]:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed)}
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    seen = set()
    # Three names in a set stand in one order under six seeds once in 7 776 times; several sets, never.
    for first in range(0, 6, 2):
        for process in (started(first), started(first + 1)):
            out, err = process.communicate()
            assert process.returncode == 0, err
            seen.add(out)
    assert len(seen) == 1
    assert '"walls.Paint"' in seen.pop()


def test_c08_another_pydantic_changes_no_manifest() -> None:
    """The shapes are read from the source: the library that will check them at run time is never asked."""
    without = "import sys\nsys.modules['pydantic'] = sys.modules['pydantic_core'] = None\n"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    usual, alone = (
        subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True).stdout
        for text in (SCRIPT, without + SCRIPT.replace('assert "pydantic" not in sys.modules', ""))
    )
    assert usual == alone
