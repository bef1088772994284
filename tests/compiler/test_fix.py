"""Fixes mend what they are for, keep the rest of the text, and change nothing the second time."""

from __future__ import annotations

import pytest

from flowx_compiler.fix import FIXABLE, fixed_texts
from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.rules.examples import example_files
from flowx_compiler.rules.registry import find_rule
from flowx_compiler.rules.run import run_rules


def fix(files: tuple[SourceFile, ...], id: str) -> tuple[tuple[SourceFile, ...], int]:
    """The files with every finding of one rule fixed, and how many findings there were."""
    program = link(Sources.of(files))
    findings = [finding for finding in run_rules(program) if finding.id == id]
    texts = fixed_texts(program, findings)
    return tuple(
        SourceFile(file.module, file.file, texts.get(file.file, file.source.decode()).encode()) for file in files
    ), len(findings)


@pytest.mark.parametrize("id", sorted(FIXABLE))
def test_a_fixed_example_has_fewer_findings_and_a_second_fix_changes_nothing(id: str) -> None:
    entry = find_rule(id)
    assert entry is not None
    mended_any = False
    for example in entry.invalid:
        files = example_files(example)
        once, before = fix(files, id)
        twice, left = fix(once, id)
        assert left <= before
        mended_any |= left < before
        assert twice == once or fix(twice, id)[0] == twice
        program = link(Sources.of(once))
        assert not [problem for problem in program.problems if problem.id == "FLOWX1280"]
        for old, new in zip(files, once, strict=True):
            old_lines, new_lines = old.source.decode().split("\n"), new.source.decode().split("\n")
            touched = [line for line in new_lines if line not in old_lines]
            assert len(touched) <= before + 1, "a fix touches the line it is for, and at most adds an import"
    assert mended_any, "no invalid example of this rule is mended by its fix"


def source(define: str, *, decorator: str, module: str = "") -> tuple[SourceFile, ...]:
    from flowx_compiler.rules.rule import Example

    return example_files(Example(define, decorator=decorator, module=module))


def test_the_profile_is_added_behind_the_last_argument_or_replaced() -> None:
    for decorator in (
        '@flow("example.flow", version="1.0.0", deadline="P30D")',
        '@flow("example.flow", version="1.0.0", deadline="P30D", profile=Profile.EPHEMERAL)',
    ):
        mended, _ = fix(source('flow.delay("PT1H")', decorator=decorator), "FLOWX1017")
        expected = '@flow("example.flow", version="1.0.0", deadline="P30D", profile=Profile.DURABLE)'
        assert expected in mended[1].source.decode()


def test_a_comment_beside_a_mended_schedule_stays() -> None:
    files = source(
        "flow.step(start_job)\n"
        "flow.poll_until(\n"
        "    job_status,  # the provider\n"
        "    until=lambda ctx: ctx.get(JobStatus).done,\n"
        '    interval=Backoff.fixed("PT10S"),  # agreed with them\n'
        '    timeout="PT1H",\n'
        ").on_timeout(lambda late: late.fail(TooLate))",
        decorator='@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")',
    )
    mended, _ = fix(files, "FLOWX1060")
    assert 'interval=Backoff.exponential_jitter("PT10S", "PT10S"),  # agreed with them' in mended[1].source.decode()


UNFIXED = {
    "another zone": 'flow.when(lambda ctx: datetime.now(ZoneInfo("CET")).hour < 12, lambda b: b.step(start_job))',
    "no zone": "flow.when(lambda ctx: datetime.now() < datetime(2030, 1, 1), lambda b: b.step(start_job))",
    "no zone of its own": "flow.when(lambda ctx: datetime.utcnow().hour < 12, lambda b: b.step(start_job))",
    "a measure": "flow.when(lambda ctx: time.time() - LIMIT > 3, lambda b: b.step(start_job))",
    "a parameter of that name": (
        "flow.when(lambda ctx: any(map(lambda ctx: datetime.now(UTC).hour < 12, [1])), lambda b: b.step(start_job))"
    ),
}
MEDIATED = "flow.when(lambda ctx: any(map(lambda x: datetime.now(UTC).hour < x, [1])), lambda b: b.step(start_job))"
MODULE = "import time\nfrom datetime import UTC, datetime\nfrom zoneinfo import ZoneInfo\n\nLIMIT: Final = 3"
DURABLE = '@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")'


@pytest.mark.parametrize("name", UNFIXED)
def test_what_would_mean_something_else_is_left_to_a_person(name: str) -> None:
    files = source(UNFIXED[name], decorator=DURABLE, module=MODULE)
    mended, found = fix(files, "FLOWX1011")
    assert found
    assert mended == files


def test_a_lambda_inside_another_asks_the_context_of_the_outer_one() -> None:
    mended, _ = fix(source(MEDIATED, decorator=DURABLE, module=MODULE), "FLOWX1011")
    assert "map(lambda x: ctx.utc_now.hour < x, [1])" in mended[1].source.decode()


def test_inside_a_block_it_is_still_the_context_that_is_asked() -> None:
    asks = "lambda ctx: datetime.now(UTC).hour < 12"
    define = f"flow.when(lambda ctx: ctx.input.total > 1, lambda b: b.when({asks}, lambda c: c.step(start_job)))"
    mended, _ = fix(source(define, decorator=DURABLE, module=MODULE), "FLOWX1011")
    assert "b.when(lambda ctx: ctx.utc_now.hour < 12, lambda c:" in mended[1].source.decode()


def test_a_capability_keeps_its_measures_and_its_keys() -> None:
    body = """\
@capability("example.stamp", version="1.0.0", authorization=Internal(), idempotent=True)
async def stamp(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    began = time.time()
    first = sorted([1, 2], key=lambda x: random.random())
    return ManualReview(ticket=f"{time.time() - began} {first}")
"""
    files = source("flow.step(stamp)", decorator=DURABLE, module=f"import random\n{MODULE}\n\n\n{body}")
    assert fix(files, "FLOWX1007")[0] == files
    mended, _ = fix(files, "FLOWX1008")
    assert "key=lambda x: ctx.random.random())" in mended[1].source.decode()


def test_a_comment_in_what_would_be_replaced_keeps_it_as_it_is() -> None:
    files = source(
        "flow.step(start_job)\n"
        "flow.poll_until(\n"
        "    job_status,\n"
        "    until=lambda ctx: ctx.get(JobStatus).done,\n"
        "    interval=Backoff.fixed(  # agreed with them\n"
        '        "PT10S"\n'
        "    ),\n"
        '    timeout="PT1H",\n'
        ").on_timeout(lambda late: late.fail(TooLate))",
        decorator=DURABLE,
    )
    assert fix(files, "FLOWX1060")[0] == files
