"""Edits of source: build, edit, build again, compare. What `flowx diff` says of real manifests."""

from __future__ import annotations

import pytest

import flowx_runtime
from flowx_compiler.build import compile_sources
from flowx_compiler.diff.json_text import SCHEMA_MAJOR
from flowx_compiler.diff.registry import rules
from flowx_compiler.link.sources import SourceFile
from tests.diff.sample import findings, report, told
from tests.diff.source import (
    CONFIG,
    MOVED,
    MOVED_CHILD,
    MOVED_COUNT,
    MOVED_LOOK,
    SOURCE,
    build,
    edit,
    manifest,
    plan_modules,
)
from tests.diff.source_edits import DOC, EDITS, NOT_FROM_SOURCE, Edit

ALL_MOVED = (MOVED, MOVED_CHILD, MOVED_COUNT, MOVED_LOOK)


def tell(*replacements: tuple[str, str], of: Edit | None = None) -> list[str]:
    """Numbers told of an edit; versions move as they have to, unless the edit is that they do not."""
    first = build(SOURCE)
    moved = () if of is not None and of.keeps_version else ALL_MOVED
    kept = () if of is not None and not of.keeps_plan else plan_modules(first)
    application = CONFIG.application if of is None else of.application
    if of is None or not of.reverse:
        second = build(edit(SOURCE, *replacements, *moved), kept, application)
        return [number for number, _ in told(manifest(first), manifest(second))]
    # Undone: the edited program is what was there, and the original what comes.
    before = build(edit(SOURCE, *replacements))
    after = build(edit(SOURCE, *ALL_MOVED), plan_modules(before))
    return [number for number, _ in told(manifest(before), manifest(after))]


def test_every_code_is_fired_from_source_or_says_why_not() -> None:
    assert {case.code for case in EDITS} | NOT_FROM_SOURCE.keys() == {rule.number for rule in rules()}
    assert not {case.code for case in EDITS} & NOT_FROM_SOURCE.keys()


def test_what_cannot_be_fired_from_source_still_cannot() -> None:
    """When this fails there is something to write edits for."""
    assert not hasattr(flowx_runtime, "agent_trigger")
    assert manifest(build(SOURCE))["schemaVersion"].partition(".")[0] == str(SCHEMA_MAJOR) == "1"


@pytest.mark.parametrize("case", EDITS, ids=lambda case: f"{case.code} {case.name}")
def test_an_edit_of_source_fires_the_code_and_its_neighbour_does_not(case: Edit) -> None:
    assert case.code in tell((case.old, case.new), *case.also, of=case)
    assert case.code not in tell(case.neighbour, *case.neighbour_also)


@pytest.mark.parametrize("case", EDITS, ids=lambda case: f"{case.code} {case.name}")
def test_a_neighbour_is_another_edit_and_changes_what_is_built(case: Edit) -> None:
    changed = edit(SOURCE, case.neighbour, *case.neighbour_also)
    assert changed != edit(SOURCE, (case.old, case.new), *case.also) or case.keeps_version
    # Silence about an edit that reaches nothing would prove nothing; words alone are the one exception.
    assert build(changed).files != build(SOURCE).files or case.neighbour == DOC


def test_a_build_against_itself_is_silent() -> None:
    built = manifest(build(SOURCE))
    found = report(built, built)
    assert (found.findings, found.uncompared) == ((), ())


def test_documentation_order_and_place_are_silent() -> None:
    first, second = build(SOURCE), build("# a comment\n\n" + edit(SOURCE, DOC))
    assert told(manifest(first), manifest(second)) == []


def test_a_catalogue_that_cannot_be_followed_is_not_read_as_empty() -> None:
    case = next(case for case in EDITS if case.code == "019")
    assert "017" not in tell((case.old, case.new), *case.also)


def test_a_contract_whose_shape_cannot_be_derived_breaks_nothing() -> None:
    case = next(case for case in EDITS if case.code == "211")
    assert not {"031", "032", "033", "034"} & set(tell((case.old, case.new), *case.also))


def test_steps_edited_under_a_new_version_leave_the_old_plan_loadable() -> None:
    first = build(SOURCE)
    edited = edit(SOURCE, MOVED, MOVED_CHILD, ("flow.step(start_job)", 'flow.step(start_job).named("begin")'))
    second = build(edited, plan_modules(first))
    assert {"plans/order_place_v1_0_0.py", "plans/order_place_v1_1_0.py"} <= second.files.keys()
    (finding,) = findings(manifest(first), manifest(second))
    assert (finding.code, finding.subject) == ("FLOWX-DIFF-212", "flow order.place@1")
    assert (finding.old, finding.new) == ("1.0.0", "1.1.0 (keeps the plans of 1.0.0)")
    third = build(edited, plan_modules(second))
    assert told(manifest(second), manifest(third)) == []


def test_steps_edited_under_the_version_that_was_released_hurt_its_open_instances() -> None:
    second = build(edit(SOURCE, ("flow.step(start_job)", 'flow.step(start_job).named("begin")')))
    (finding,) = findings(manifest(build(SOURCE)), manifest(second))
    assert (finding.code, finding.subject) == ("FLOWX-DIFF-040", "flow order.place@1.0.0")
    assert finding.hurt == "open instances of order.place@1.0.0"
    assert "give order.place a new version, such as 1.1.0" in finding.advice


def test_a_renamed_contract_with_its_shape_is_neutral() -> None:
    assert set(tell(("OrderResult", "ResultOfOrder"))) <= {"210", "212"}
    assert "210" in tell(("OrderResult", "ResultOfOrder"))


HTTP_CALLERS = "callers of flow order.place@1 (HTTP POST /orders)"
HURT = {
    "callers over HTTP, and flows that call the capability": (
        ("    order_id: str\n    national_id", "    order_id: str\n    phone: str\n    national_id"),
        "contract shop.PlaceOrder.phone",
        f"{HTTP_CALLERS}; flows that call capability card.charge@1 (here: order.place)",
    ),
    "parent flows": (
        ("class Ship(Contract):\n    order_id: str\n", "class Ship(Contract):\n    order_id: str\n    speed: int\n"),
        "contract shop.Ship.speed",
        "callers of flow order.ship@1 (parent flow order.place)",
    ),
    "senders of the signal": (
        ("class Signed(Contract):\n    by: str\n", "class Signed(Contract):\n    by: str\n    at: str\n"),
        "contract shop.Signed.at",
        "senders of signal order.signed (flow order.place waits for it)",
    ),
}


@pytest.mark.parametrize("who", HURT)
def test_a_required_field_added_to_what_is_accepted_says_who_is_hurt(who: str) -> None:
    replacement, subject, hurt = HURT[who]
    child = ("Ship(order_id=ctx.input.order_id)", "Ship(order_id=ctx.input.order_id, speed=1)")
    also = (child,) if who == "parent flows" else ()
    second = build(edit(SOURCE, replacement, *also, *ALL_MOVED), plan_modules(build(SOURCE)))
    required = [item for item in findings(manifest(build(SOURCE)), manifest(second)) if item.code.endswith("030")]
    assert [(item.subject, item.hurt) for item in required] == [(subject, hurt)]


def test_a_flow_that_goes_says_which_schedule_goes_with_it() -> None:
    second = build(edit(SOURCE, ('"order.count"', '"order.tally"')))
    gone = next(item for item in findings(manifest(build(SOURCE)), manifest(second)) if item.code.endswith("001"))
    assert gone.hurt == "callers of flow order.count@1 (schedule 0 2 * * *), and its open instances"


def test_f12_a_class_moved_to_another_module_is_silent_but_for_its_contracts() -> None:
    """A capability keeps its id and version wherever its class is."""
    flows = SOURCE.replace("from typing import Literal\n", "from typing import Literal\n\nfrom mail import send_mail\n")
    start = flows.index('@capability("mail.send"')
    end = flows.index("@flow(", start)
    mail = (
        "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n\n"
        "from flowx_runtime import Internal, StepContext, capability\n\n"
        "if TYPE_CHECKING:\n    from shop import Job, Ship\n\n" + flows[start:end]
    )
    files = [
        SourceFile("shop", "shop.py", (flows[:start] + flows[end:]).encode()),
        SourceFile("mail", "mail.py", mail.encode()),
    ]
    moved = compile_sources(files, CONFIG, {})
    assert not moved.has_errors, [finding.message for finding in moved.findings]
    before, after = manifest(build(SOURCE)), manifest(moved)
    assert before != after
    assert [item for item in told(before, after) if item[0] != "040"] == []
