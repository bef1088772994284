"""The report for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from flowx_compiler.diff.compare import Report
from flowx_compiler.diff.rule import Finding, Verdict
from flowx_compiler.diff.sentences import (
    NOTHING_CHANGED,
    SAME_DOCUMENT,
    counts,
    explained,
    printable,
    verdict_of,
    versions,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~&])")
_MENTION = re.compile(r"(?<!\w)([@#])(?=\w)")
"""Where a forge would tell a person, or link an issue, after it has formatted the text."""


def render_markdown(report: Report) -> str:
    """What breaks as a table, and the rest folded away below it.

    Names from the documents are shown as text: they can format nothing and call nobody.
    """
    shown = printable(report)
    breaking = [finding for finding in shown.findings if finding.verdict is Verdict.BREAKING]
    rest = [finding for finding in shown.findings if finding.verdict is not Verdict.BREAKING]
    lines = [f"### Contract of {_text(shown.application)}: {_verdict(shown)}", ""]
    moved = _text(versions(shown).replace("->", "→"))
    lines += [f"{moved}: {counts(shown)}." if moved else f"{counts(shown)}."]
    if shown.is_same_document:
        lines += ["", f"{SAME_DOCUMENT[0].upper()}{SAME_DOCUMENT[1:]}."]
    elif not shown.findings:
        lines += ["", f"{NOTHING_CHANGED[0].upper()}{NOTHING_CHANGED[1:]}."]
    if breaking:
        lines += ["", *_table(breaking)]
    if rest:
        lines += ["", "<details>", f"<summary>{_rest(shown)}</summary>", "", *_table(rest), "", "</details>"]
    if shown.uncompared:
        lines += ["", f"Not compared, opaque in both documents: {_text(', '.join(shown.uncompared))}."]
    if shown.findings:
        words = explained(shown)
        lines += ["", f"{words[0].upper()}{words[1:]}."]
    return "\n".join([*lines, ""])


def _verdict(report: Report) -> str:
    return verdict_of(report) if report.is_compatible else f"**{verdict_of(report)}**"


def _rest(report: Report) -> str:
    numbers = [(report.count(verdict), verdict.value) for verdict in Verdict if verdict is not Verdict.BREAKING]
    return f"{', '.join(f'{number} {name}' for number, name in numbers if number)}: nobody is hurt"


def _table(findings: Iterable[Finding]) -> Iterator[str]:
    yield "| Class | Code | Subject | Change | Hurts | Do |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for finding in findings:
        change = f"{finding.summary}: {finding.old} → {finding.new}"
        cells = (finding.verdict.value, finding.code, finding.subject, change, finding.hurt, finding.advice)
        yield f"| {' | '.join(_text(cell) for cell in cells)} |"


def _text(value: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", " ".join(value.split()))
    return _MENTION.sub(r"\1<!-- -->", escaped)
