"""What holds for every program of the language, tried on random ones."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import HealthCheck, given, settings

from flowx_compiler.emit.plan_module import emit_plan
from flowx_compiler.link import link
from flowx_compiler.link.sources import Sources
from flowx_compiler.lower import lower
from flowx_compiler.rules.examples import shop
from flowx_runtime.plan import Plan
from flowx_runtime.plan.nodes import targets
from tests.compiler.random_flows import files, flow_sources

PATIENT = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


@contextmanager
def importable(source: str) -> Iterator[None]:
    """The modules of a random program, imported from text."""
    for name, text in (("shop", shop()), ("flows", source)):
        module = types.ModuleType(name)
        sys.modules[name] = module
        exec(compile(text, f"{name}.py", "exec"), module.__dict__)
    try:
        yield
    finally:
        del sys.modules["shop"], sys.modules["flows"]


def plan_text(source: str) -> str:
    program = link(Sources.of(files(source)))
    assert [problem for problem in program.problems if problem.id != "FLOWX1211"] == []
    return emit_plan(lower(program, program.flows["flows.RandomFlow"]))


@PATIENT
@given(flow_sources())
def test_every_target_points_strictly_forward_and_the_plan_loads(source: str) -> None:
    text = plan_text(source)
    with importable(source):
        module = types.ModuleType("plan")
        exec(compile(text, "plan.py", "exec"), module.__dict__)
    plan = module.__dict__["PLAN"]
    assert isinstance(plan, Plan)
    for position, node in enumerate(plan.nodes):
        assert node.index == position
        for target in targets(node):
            assert position < target <= len(plan.nodes)


@PATIENT
@given(flow_sources())
def test_building_twice_gives_the_same_bytes(source: str) -> None:
    assert plan_text(source) == plan_text(source)


@PATIENT
@given(flow_sources())
def test_comments_and_moved_lines_change_no_plan(source: str) -> None:
    moved = "# a comment above everything\n\n\n" + source.replace("\nclass RandomFlow", "\n# why\nclass RandomFlow")
    assert plan_text(moved) == plan_text(source)
