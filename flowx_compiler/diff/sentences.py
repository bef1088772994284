"""Sentences that more than one rendering says."""

from __future__ import annotations

from dataclasses import replace

from flowx_compiler.diff.compare import Report
from flowx_compiler.diff.rule import Verdict

SAME_DOCUMENT = "nothing changed: baseline and candidate are the same document"
NOTHING_CHANGED = "nothing changed that anybody outside can notice"


def printable(report: Report) -> Report:
    """The report with control characters escaped: no name can move a cursor, colour, or begin a line."""
    return replace(
        report,
        application=_plain(report.application),
        old_version=_plain(report.old_version),
        new_version=_plain(report.new_version),
        findings=tuple(
            replace(
                finding,
                subject=_plain(finding.subject),
                summary=_plain(finding.summary),
                old=_plain(finding.old),
                new=_plain(finding.new),
                hurt=_plain(finding.hurt),
                advice=_plain(finding.advice),
            )
            for finding in report.findings
        ),
        uncompared=tuple(map(_plain, report.uncompared)),
    )


def verdict_of(report: Report) -> str:
    """In one word, loud when something breaks."""
    return "compatible" if report.is_compatible else "INCOMPATIBLE"


def explained(report: Report) -> str:
    """Where more is said about a code."""
    return f"`flowx explain {report.findings[0].code}` says more about a code"


def _plain(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def counts(report: Report) -> str:
    """How many findings of each class."""
    return ", ".join(f"{report.count(verdict)} {verdict.value}" for verdict in Verdict)


def versions(report: Report) -> str:
    """From which version of the application to which; empty when neither document says."""
    if not report.old_version and not report.new_version:
        return ""
    old, new = report.old_version or "(unversioned)", report.new_version or "(unversioned)"
    return f"{old} -> {new}"
