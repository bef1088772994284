"""Flows as pictures: what is on them, that nothing on them lies over anything else, and an instance's path."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from uuid import UUID
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings

from flowx_cli.graph.asking import drawn
from flowx_cli.graph.drawing import NOTE_SIZE, TITLE_SIZE, Drawing, Label, PlacedBox, PlacedGroup, Rectangle, Text, Way
from flowx_cli.graph.figure import Look, boxes
from flowx_cli.graph.letters import lines_of, width_of
from flowx_cli.graph.marks import Mark, Marks, marks_of
from flowx_cli.graph.place import SLANT, place
from flowx_cli.graph.reading import figure_of
from flowx_runtime.engine.session import TIMED_OUT
from flowx_runtime.journal.records import History, InstanceRow, RowOutcome, State, StepRow, StoredError, Wait
from flowx_runtime.plan import Jump, Plan
from tests.compiler.random_flows import flow_sources
from tests.compiler.test_random_flows import importable, plan_text

PICTURES = Path(__file__).parent / "pictures"
PLANS = {
    "document.process": "polling.plans.document_process_v1_0_0",
    "employee.onboard": "workflow.plans.employee_onboard_v2_0_0",
    "offer.accept": "offers.plans.offer_accept_v1_0_0",
}
PATIENT = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
NOW = datetime(2031, 5, 6, 12, tzinfo=UTC)


def plan_of(flow: str) -> Plan[Any, Any]:
    plan: Plan[Any, Any] = import_module(PLANS[flow]).PLAN
    return plan


@pytest.mark.parametrize("format_", ["mermaid", "dot"])
@pytest.mark.parametrize("flow", PLANS)
def test_a_flow_is_drawn_as_it_was_reviewed(flow: str, format_: str) -> None:
    drawn_before = PICTURES / f"{flow}.{format_}"
    assert drawn(figure_of(plan_of(flow)), format_) == drawn_before.read_text("utf-8")


@pytest.mark.parametrize("flow", PLANS)
def test_a_picture_is_one_document_that_asks_for_nothing(flow: str) -> None:
    figure = figure_of(plan_of(flow))
    svg, page = drawn(figure, "svg"), drawn(figure, "html")
    root = ET.fromstring(svg)
    said = {"".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {box.title for box in boxes(figure.body) if len(box.title) < 20} <= said
    assert page.startswith("<!doctype html>")
    for text in (svg, page):
        assert "<script" not in text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_long_words_and_signs_are_written_as_they_are() -> None:
    plan = plan_of("document.process")
    title = 'a<b> & "c" #1'
    figure = figure_of(plan)
    (first, *rest) = figure.body
    assert not isinstance(first, tuple)
    figure = replace(figure, body=(replace(first, title=title), *rest))  # type: ignore[type-var]
    assert title in ["".join(text.itertext()) for text in ET.fromstring(drawn(figure, "svg")).iter()]
    assert "a#lt;b#gt; #amp; #quot;c#quot; #35;1" in drawn(figure, "mermaid")
    assert 'a<b> & \\"c\\" #1' in drawn(figure, "dot")


def assert_nothing_lies_over_anything(drawing: Drawing) -> None:
    whole = Rectangle(0, 0, drawing.width, drawing.height)
    solid: list[PlacedBox | Label] = [*drawing.boxes, *drawing.labels]
    for one, other in combinations(solid, 2):
        assert apart(one.at, other.at), f"{one} and {other}"
    for group in drawing.groups:
        heading = Rectangle(group.at.x, group.at.y, group.at.width, group.text.height)
        for each in solid:
            assert inside(each.at, group.at) or apart(each.at, group.at), f"{each} is half in {group}"
            assert apart(each.at, heading), f"{each} is on the heading of {group}"
        for other in drawing.groups:
            if other is not group:
                assert inside(other.at, group.at) or inside(group.at, other.at) or apart(other.at, group.at)
    assert all(inside(each.at, whole) for each in [*solid, *drawing.groups])


def assert_text_fits(placed: PlacedBox | PlacedGroup | Label) -> None:
    lean = 2 * SLANT if isinstance(placed, PlacedBox) and placed.box.look is Look.CHOICE else 0
    text = Text((), (placed.text,)) if isinstance(placed, Label) else placed.text
    assert text.height <= placed.at.height
    widths = [width_of(line, TITLE_SIZE, is_bold=True) for line in text.title]
    widths += [width_of(line, NOTE_SIZE) for line in text.notes]
    assert max(widths, default=0) + lean <= placed.at.width


def assert_lines_run_free(drawing: Drawing) -> None:
    """A line touches a box at its ends only, and runs upright or level."""
    for line in drawing.lines:
        for start, end in pairwise(line.points):
            assert start[0] == end[0] or start[1] == end[1]
            left, right = sorted((start[0], end[0]))
            top, bottom = sorted((start[1], end[1]))
            run = Rectangle(left + 0.1, top + 0.1, right - left - 0.2, bottom - top - 0.2)
            for box in drawing.boxes:
                assert apart(run, box.at), f"{line} crosses {box}"


def apart(one: Rectangle, other: Rectangle) -> bool:
    return one.right <= other.x or other.right <= one.x or one.bottom <= other.y or other.bottom <= one.y


def inside(inner: Rectangle, outer: Rectangle) -> bool:
    return inner.x >= outer.x and inner.right <= outer.right and inner.y >= outer.y and inner.bottom <= outer.bottom


def assert_is_legible(plan: Plan[Any, Any]) -> None:
    figure = figure_of(plan)
    shown = {box.index for box in boxes(figure.body)} | {group.group.index for group in place(figure).groups}
    assert shown == {node.index for node in plan.nodes if not isinstance(node, Jump)}
    drawing = place(figure)
    assert_nothing_lies_over_anything(drawing)
    assert_lines_run_free(drawing)
    for each in [*drawing.boxes, *drawing.groups, *drawing.labels]:
        assert_text_fits(each)


@pytest.mark.parametrize("flow", PLANS)
def test_an_example_is_legible(flow: str) -> None:
    assert_is_legible(plan_of(flow))


@PATIENT
@given(flow_sources())
def test_every_flow_is_legible_and_shows_every_node_once(source: str) -> None:
    with importable(source):
        module = types.ModuleType("plan")
        exec(compile(plan_text(source), "<plan>", "exec"), module.__dict__)
    plan = module.__dict__["PLAN"]
    assert_is_legible(plan)
    for format_ in ("mermaid", "dot", "svg"):
        assert drawn(figure_of(plan), format_)


@pytest.mark.parametrize("text", ["w" * 200, "a.b_c " * 60, "x", "Wörter mit Ümläuten und 漢字 dazwischen " * 9])
def test_a_text_is_broken_into_lines_that_fit(text: str) -> None:
    lines = lines_of(text, 13, is_bold=True, limit=200)
    assert 1 <= len(lines) <= 3
    assert all(width_of(line, 13, is_bold=True) <= 200 for line in lines)
    assert "".join(lines).replace(" ", "").rstrip("…") in text.replace(" ", "")


# An instance on its plan


def history(flow: str, *rows: StepRow, state: State = State.SUSPENDED, waits: tuple[Wait, ...] = ()) -> History:
    plan = plan_of(flow)
    instance = InstanceRow(
        UUID(int=1), flow, plan.version, plan.digest, state, "{}", created_at=NOW, updated_at=NOW, fence=1, waits=waits
    )
    return History(instance, rows)


def row(step: int, outcome: RowOutcome = RowOutcome.SUCCESS, *, scope: str = "", capability: str = "c") -> StepRow:
    error = StoredError("away", "unavailable", "") if outcome is RowOutcome.FAILURE else None
    return StepRow(scope, step, 1, capability, outcome, error=error)


def taken(flow: str, told: History) -> Iterator[tuple[float, ...]]:
    figure = figure_of(plan_of(flow))
    marks = marks_of(figure, told)
    for line in place(figure).lines:
        if marks.took(line.way):
            yield line.points[-1]


def test_a_poll_that_goes_on_is_marked_and_its_endings_are_not() -> None:
    told = history("document.process", row(0), row(2, scope="0"), row(2, scope="1"), waits=(Wait("1", 1, NOW),))
    marks = marks_of(figure_of(plan_of("document.process")), told)
    assert marks.by_index == {0: Mark.DONE, 1: Mark.WAITING, 2: Mark.DONE}
    assert marks.notes == {1: "waits until 2031-05-06 12:00:00Z", 2: "2 times"}
    assert len(list(taken("document.process", told))) == 2


@pytest.mark.parametrize(
    ("ending", "arm"), [((), "satisfied"), ((row(1, capability="ocr.completed"),), "ocr.completed")]
)
def test_the_ending_that_a_poll_came_to_is_on_the_path(ending: tuple[StepRow, ...], arm: str) -> None:
    figure = figure_of(plan_of("document.process"))
    told = history("document.process", row(0), row(2, scope="0"), *ending, row(5), row(6), state=State.COMPLETED)
    marks = marks_of(figure, told)
    ways = [line.way for line in place(figure).lines if line.way.head == 1]
    assert [way.ending for way in ways if marks.took(way)] == [arm]


def test_a_wait_whose_time_ran_out_was_left_by_no_other_ending() -> None:
    marks = Marks({1: Mark.DONE, 5: Mark.DONE}, ended_by={1: TIMED_OUT})
    for ending in ("received", "satisfied", "ocr.completed"):
        assert not marks.took(Way(frozenset({5}), head=1, ending=ending))
    assert marks.took(Way(frozenset({5})))


def test_a_failure_and_what_was_undone_and_could_not_be_are_marked() -> None:
    told = history(
        "employee.onboard",
        row(0),
        row(2),
        row(7),
        row(9, RowOutcome.FAILURE),
        row(7, RowOutcome.COMPENSATED),
        row(2, RowOutcome.FAILURE),
        state=State.COMPENSATION_FAILED,
    )
    marks = marks_of(figure_of(plan_of("employee.onboard")), told)
    assert (marks.by_index[9], marks.notes[9]) == (Mark.FAILED, "away")
    assert marks.by_index[7] is Mark.UNDONE
    assert (marks.by_index[2], marks.notes[2]) == (Mark.FAILED, "undo failed: away")
    assert marks.by_index[1] is Mark.PASSED
    assert 4 not in marks.by_index


def test_a_completed_instance_is_green_to_its_end() -> None:
    told = history("employee.onboard", *(row(step) for step in (0, 2, 7)), row(24), state=State.COMPLETED)
    svg = drawn(figure_of(plan_of("employee.onboard")), "svg", marks_of(figure_of(plan_of("employee.onboard")), told))
    assert svg.count('class="terminal done"') == 1
    assert "line taken" in svg
