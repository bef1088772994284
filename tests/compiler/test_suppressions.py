"""What `# flowx: ignore[…]` covers, and what is said of one that covers nothing.

Tests named `b01` and so on are the cases of the issue survey with that number.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.rules.examples import example_files, marked_lines
from flowx_compiler.rules.registry import RegisteredRule, registry
from flowx_compiler.rules.run import judge
from flowx_compiler.rules.selection import selection
from flowx_compiler.rules.suppress import ABOUT_DIRECTIVES
from flowx_compiler.verdict import Verdict
from tests.compiler.report_scene import program_of

UNREADABLE = frozenset({"FLOWX1280", "FLOWX1281", "FLOWX1282"})
"""Of a file that cannot be read no directive can be read either."""
HEAD = """\
from flowx_runtime import Backoff, Flow, FlowBuilder, Profile, flow
from shop import JITTERED, JobStatus, OrderResult, PlaceOrder, TooLate, nudge_job, release_inventory
from shop import reserve_inventory, start_job, validate_order, job_status


"""
DURABLE = '@flow("order.place", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")'
EPHEMERAL = '@flow("order.place", version="1.0.0", profile=Profile.EPHEMERAL, deadline="PT10S")'


def flow_text(define: str, decorator: str = DURABLE) -> str:
    body = "".join(f"        {line}\n" if line else "\n" for line in define.rstrip("\n").split("\n"))
    return (
        f"{HEAD}{decorator}\nclass PlaceAnOrder(Flow[PlaceOrder, OrderResult]):\n"
        f"    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:\n{body}"
        "        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))\n"
    )


def judged(define: str, decorator: str = DURABLE) -> tuple[list[str], list[str]]:
    """Ids found, and ids suppressed, in the flow's file."""
    return ids_of(judge(program_of(flow_text(define, decorator))))


def ids_of(verdict: Verdict) -> tuple[list[str], list[str]]:
    return (
        [finding.id for finding in verdict.findings if finding.place.file == "flows.py"],
        [item.finding.id for item in verdict.suppressed if item.finding.place.file == "flows.py"],
    )


POLL = """\
flow.step(start_job)
flow.poll_until({first}
    nudge_job,{exact}
    until=lambda ctx: ctx.get(JobStatus).done,
    interval=JITTERED,
    timeout="PT1H",
).on_timeout(lambda late: late.fail(TooLate)){last}
"""
WHY = "  # flowx: ignore[FLOWX1044] the nudge is harmless"


@pytest.mark.parametrize("where", ["first", "exact", "last"])
def test_b01_a_directive_on_the_first_or_last_line_of_a_call_or_on_its_own_line_is_used(where: str) -> None:
    places = {"first": "", "exact": "", "last": ""} | {where: WHY}
    assert judged(POLL.format(first="", exact="", last="")) == (["FLOWX1044"], [])
    assert judged(POLL.format(**places)) == ([], ["FLOWX1044"])


def test_b01_a_directive_after_a_multi_line_string_is_used() -> None:
    text = flow_text("flow.step(validate_order)").replace(
        HEAD, f'{HEAD}NOTE = """\none\ntwo\n"""  # flowx: ignore[FLOWX1014] nothing to see\n\n\n'
    )
    found, suppressed = ids_of(judge(program_of(text)))
    assert (found, suppressed) == (["FLOWX1290"], [])


def test_b01_the_text_of_a_string_is_no_directive() -> None:
    text = flow_text("flow.step(validate_order)").replace(
        HEAD, f'{HEAD}NOTE = """\n# flowx: ignore[FLOWX1014] only words\n"""\n\n\n'
    )
    assert ids_of(judge(program_of(text))) == ([], [])


CHAIN = """\
(
    flow
    # flowx: ignore[FLOWX1044] the nudge is harmless
    .poll_until(
        nudge_job,
        until=lambda ctx: ctx.get(JobStatus).done,
        interval=JITTERED,
        timeout="PT1H",
    )
    .on_timeout(lambda late: late.fail(TooLate))
)
"""


def test_b03_a_directive_between_two_chained_calls_is_about_the_next_call() -> None:
    assert judged(f"flow.step(start_job)\n{CHAIN}") == ([], ["FLOWX1044"])


def test_b03_a_directive_about_the_next_call_is_not_about_the_one_before() -> None:
    moved = CHAIN.replace("    # flowx: ignore[FLOWX1044] the nudge is harmless\n", "").replace(
        "    .on_timeout", "    # flowx: ignore[FLOWX1044] the nudge is harmless\n    .on_timeout"
    )
    assert judged(f"flow.step(start_job)\n{moved}") == (["FLOWX1044", "FLOWX1290"], [])


def test_b03_a_directive_after_a_trailing_comma_is_about_that_argument() -> None:
    wrong_argument = POLL.format(first="", exact="", last="").replace("JITTERED,", f"JITTERED,{WHY}")
    assert judged(wrong_argument) == (["FLOWX1044", "FLOWX1290"], [])
    several_lines = POLL.format(first="", exact="", last="").replace("nudge_job", "job_status")
    steady = """interval=Backoff.fixed(
        "PT5S",
    ),"""
    assert judged(several_lines.replace("interval=JITTERED,", steady)) == (["FLOWX1060"], [])
    why = "  # flowx: ignore[FLOWX1060] there is one instance"
    assert judged(several_lines.replace("interval=JITTERED,", steady + why)) == ([], ["FLOWX1060"])


UNDO = "flow.step(validate_order)\nflow.step(reserve_inventory).compensate_with(release_inventory)\n"


@pytest.mark.parametrize(
    "decorator",
    [
        f"# flowx: ignore[FLOWX1012] best effort\n{EPHEMERAL}",
        f"# flowx: ignore[FLOWX1012] best effort\n\n# more words\n{EPHEMERAL}",
        f"{EPHEMERAL}  # flowx: ignore[FLOWX1012] best effort",
    ],
)
def test_b03_a_directive_above_or_after_a_decorator_is_about_the_class(decorator: str) -> None:
    assert judged(UNDO, EPHEMERAL) == (["FLOWX1012"], [])
    assert judged(UNDO, decorator) == ([], ["FLOWX1012"])


def test_b04_a_directive_for_a_rule_that_did_not_run_is_not_unused() -> None:
    program = program_of(flow_text("flow.step(validate_order)  # flowx: ignore[FLOWX1012] not today"))
    assert ids_of(judge(program)) == (["FLOWX1290"], [])
    assert ids_of(judge(program, selection(select=["FLOWX1290", "FLOWX1043"]))) == ([], [])
    assert ids_of(judge(program, selection(ignore=["FLOWX1012"]))) == ([], [])
    assert ids_of(judge(program, selection(select=["FLOWX1290", "FLOWX1012"]))) == (["FLOWX1290"], [])


def test_b04_an_id_that_no_rule_has_is_unused_whichever_rules_ran() -> None:
    program = program_of(flow_text("flow.step(validate_order)  # flowx: ignore[FLOWX1999] a slip of the hand"))
    assert ids_of(judge(program, selection(select=["FLOWX1290"]))) == (["FLOWX1290"], [])


@pytest.mark.parametrize("words", ["", " ", " - ", ":", "  # noqa: E501"])
def test_b05_a_directive_without_words_is_a_finding_and_covers_nothing(words: str) -> None:
    found, suppressed = judged(UNDO, f"{EPHEMERAL}  # flowx: ignore[FLOWX1012]{words}")
    assert sorted(found) == ["FLOWX1012", "FLOWX1291"]
    assert suppressed == []


def test_b05_a_directive_is_never_documentation() -> None:
    text = flow_text("flow.step(validate_order)", f"# flowx: ignore[FLOWX1012] secret words\n{DURABLE}")
    program = program_of(text)
    assert "secret words" not in repr(program.flows)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501  # flowx: ignore[FLOWX1012] why",
        "# flowx: ignore[FLOWX1012] why  # noqa: E501",
        "#flowx:ignore[FLOWX1012] why",
        "# flowx: ignore[FLOWX1290, FLOWX1012] why",
    ],
)
def test_b06_other_comments_on_the_line_do_not_matter(comment: str) -> None:
    verdict = judge(program_of(flow_text(UNDO, f"{EPHEMERAL}  {comment}")))
    assert [(item.finding.id, item.reason) for item in verdict.suppressed] == [("FLOWX1012", "why")]


ABOUT_RELEASES = {entry.rule.id for entry in registry() if any(example.is_compared for example in entry.invalid)}
"""Found by comparing with what was built before; suppressing them is tested with releases."""
SUPPRESSIBLE = [entry for entry in registry() if entry.rule.id not in UNREADABLE | ABOUT_DIRECTIVES | ABOUT_RELEASES]


@pytest.mark.parametrize("entry", SUPPRESSIBLE, ids=lambda entry: entry.rule.id)
def test_b12_every_rule_can_be_suppressed_at_its_line(entry: RegisteredRule) -> None:
    for example in entry.invalid:
        shop_file, example_file = example_files(example)
        lines = example_file.source.decode().split("\n")
        for number in reversed(marked_lines(example)):
            indent = re.match(r"\s*", lines[number - 1])
            assert indent
            lines.insert(number - 1, f"{indent[0]}# flowx: ignore[{entry.rule.id}] because")
        changed = SourceFile("example", "example.py", "\n".join(lines).encode())
        verdict = judge(link(Sources.of([shop_file, changed])))
        left = [finding.id for finding in verdict.findings if finding.place.file == "example.py"]
        assert entry.rule.id not in left
        assert "FLOWX1290" not in left
        assert {item.finding.id for item in verdict.suppressed} >= {entry.rule.id}


def test_b12_what_is_said_about_directives_is_not_suppressed_by_directives() -> None:
    found, suppressed = judged("flow.step(validate_order)  # flowx: ignore[FLOWX1290] let me be")
    assert (found, suppressed) == (["FLOWX1290"], [])


COMMENTS = st.sampled_from(
    [
        "",
        "  # flowx: ignore[FLOWX1044] a",
        "  # flowx: ignore[FLOWX1012, FLOWX1044] b",
        "  # flowx: ignore[FLOWX1060] c",
    ]
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(COMMENTS, min_size=9, max_size=9))
def test_b02_deleting_every_directive_that_is_unused_changes_no_other_finding(comments: list[str]) -> None:
    plain = flow_text(POLL.format(first="", exact="", last="") + UNDO, EPHEMERAL).split("\n")
    start = next(number for number, line in enumerate(plain) if "start_job)" in line)
    lines = [
        line + (comments[number - start] if 0 <= number - start < len(comments) else "")
        for number, line in enumerate(plain)
    ]
    before = judge(program_of("\n".join(lines)))
    unused = [finding for finding in before.findings if finding.id == "FLOWX1290"]
    for finding in unused:
        number = finding.place.span.line - 1
        id = finding.message.split()[3]
        ids = [item for item in re.findall(r"FLOWX\d+", lines[number].partition("#")[2]) if item != id]
        code, _, comment = lines[number].partition("  # flowx")
        lines[number] = f"{code}  # flowx: ignore[{', '.join(ids)}] {comment[-1]}" if ids else code
    after = judge(program_of("\n".join(lines)))
    assert ids_of(after)[1] == ids_of(before)[1]
    assert ids_of(after)[0] == [id for id in ids_of(before)[0] if id != "FLOWX1290"]
