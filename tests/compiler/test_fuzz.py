"""A short run of the fuzzer; the long one is `python -m tests.compiler.fuzz 20000`."""

from __future__ import annotations

from tests.compiler.fuzz import damaged, judge


def test_damaged_sources_give_findings_and_never_a_traceback() -> None:
    for _, source in damaged(150, seed=7):
        judge(source)
