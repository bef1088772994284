"""A flow that cannot be compiled keeps its error, whoever silences it; everything else can be silenced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowx_compiler.baseline import apply_baseline
from flowx_compiler.build import compile_sources
from flowx_compiler.config import Config
from flowx_compiler.findings import Severity
from flowx_compiler.link.sources import SourceFile
from flowx_compiler.model import Program
from flowx_compiler.report.fingerprint import fingerprints
from flowx_compiler.rules.examples import example_files, marked_lines
from flowx_compiler.rules.registry import RegisteredRule, registry
from flowx_compiler.rules.run import judge
from flowx_compiler.rules.selection import EVERYTHING, selection
from flowx_compiler.rules.unsound import with_reasons
from flowx_compiler.verdict import KnownFinding, Verdict
from tests.compiler.test_suppressions import flow_text, program_of

CONFIG = Config(root=Path(), sources=("src",), plans="plans")
ERRORS = [entry for entry in registry() if entry.rule.severity is Severity.ERROR]


def judged(program: Program) -> Verdict:
    return with_reasons(program, judge(program))


@pytest.mark.parametrize("entry", ERRORS, ids=lambda entry: entry.rule.id)
def test_a_build_with_every_error_suppressed_compiles_or_says_why_not(entry: RegisteredRule) -> None:
    shop_file, example_file = example_files(entry.invalid[0])
    lines = example_file.source.decode().split("\n")
    for number in reversed(marked_lines(entry.invalid[0])):
        indent = re.match(r"\s*", lines[number - 1])
        assert indent
        lines.insert(number - 1, f"{indent[0]}# flowx: ignore[{entry.rule.id}] because")
    changed = SourceFile("example", "example.py", "\n".join(lines).encode())
    built = compile_sources([shop_file, changed], CONFIG, {}, judged)
    assert built.has_errors or built.files or built.flow_count == 0


LOOP = "flow.step(validate_order)\nfor _ in range(2):{why}\n    flow.step(validate_order)\n"


def test_a_part_that_was_not_understood_is_an_error_that_says_it_cannot_be_silenced() -> None:
    program = program_of(flow_text(LOOP.format(why="  # flowx: ignore[FLOWX1212] twice is enough")))
    assert [item.finding.id for item in judge(program).suppressed] == ["FLOWX1212"]
    verdict = judged(program)
    assert [finding.id for finding in verdict.findings] == ["FLOWX1212"]
    assert "cannot be silenced" in verdict.findings[0].help
    assert verdict.suppressed == ()
    assert with_reasons(program, verdict) == verdict


def test_a_sound_flow_keeps_its_suppressions() -> None:
    program = program_of(flow_text("flow.step(validate_order)  # flowx: ignore[FLOWX1012] words"))
    assert judged(program) == judge(program)


TWO_POLICIES = "flow.step(start_job)\nflow.step(job_status).with_policy(SAFE_RETRY).with_policy(SAFE_RETRY)\n"


def test_neither_a_setting_nor_a_baseline_hides_why_a_flow_does_not_compile() -> None:
    text = flow_text(TWO_POLICIES).replace("from shop import JITTERED", "from shop import SAFE_RETRY, JITTERED")
    program = program_of(text)
    plain = judge(program)
    assert [finding.id for finding in plain.findings] == ["FLOWX1034"]
    if any(entry.rule.id == "FLOWX1034" and not entry.rule.is_safety for entry in registry()):
        ignored = judge(program, selection(ignore=["FLOWX1034"]))
        assert [finding.id for finding in with_reasons(program, ignored).findings] == ["FLOWX1034"]
        digest = fingerprints(program.modules.values(), plain.findings)[plain.findings[0]]
        known = apply_baseline(program, plain, [KnownFinding(digest, "FLOWX1034", "flows.py", "m")], EVERYTHING)
        assert known.findings == ()
        assert [finding.id for finding in with_reasons(program, known).findings] == ["FLOWX1034"]
