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
