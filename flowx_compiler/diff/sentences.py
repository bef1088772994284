"""Sentences that more than one rendering says."""

from __future__ import annotations

from flowx_compiler.diff.compare import Report
from flowx_compiler.diff.rule import Verdict

SAME_DOCUMENT = "nothing changed: baseline and candidate are the same document"
NOTHING_CHANGED = "nothing changed that anybody outside can notice"


def counts(report: Report) -> str:
    """How many findings of each class."""
    return ", ".join(f"{report.count(verdict)} {verdict.value}" for verdict in Verdict)


def versions(report: Report) -> str:
    """From which version of the application to which."""
    old, new = report.old_version or "(unversioned)", report.new_version or "(unversioned)"
    return f"{old} -> {new}"
