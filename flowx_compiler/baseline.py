"""The baseline: findings that a project lives with for now, so that new ones stand out."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Any

from flowx_compiler.errors import UsageProblem
from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.report.fingerprint import fingerprints
from flowx_compiler.rules.registry import find_rule
from flowx_compiler.rules.selection import Selection
from flowx_compiler.verdict import KnownFinding, Verdict

_FIELDS = ("fingerprint", "id", "file", "message")


def parse_baseline(text: str, name: str) -> tuple[KnownFinding, ...]:
    """The entries of a baseline file.

    Args:
        text: what the file holds.
        name: its name, for the person who has to repair it.

    Raises:
        UsageProblem: it is not a baseline, or it hides what a safety rule found.
    """
    try:
        entries = _entries(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageProblem(f"{name} is not a baseline: write it with `flowx check --write-baseline {name}`") from error
    for entry in entries:
        if _is_safety(entry.id):
            raise UsageProblem(
                f"{name} holds {entry.id} in {entry.file}, a safety rule, which no baseline can hide: "
                f"suppress it at its line with `# flowx: ignore[{entry.id}] why`"
            )
    return entries


def render_baseline(program: Program, verdict: Verdict, selected: Selection) -> str:
    """The baseline that covers every finding of a verdict, except those of safety rules."""
    known = _fingerprints(program, verdict)
    entries = [
        {"fingerprint": known[finding], "id": finding.id, "file": selected.path_of(finding.place.file)}
        | {"message": finding.message}
        for finding in (*verdict.findings, *verdict.known)
        if not _is_safety(finding.id)
    ]
    entries.sort(key=lambda entry: (entry["file"], entry["id"], entry["message"], entry["fingerprint"]))
    return json.dumps({"version": 1, "findings": entries}, indent=2, ensure_ascii=False) + "\n"


def apply_baseline(
    program: Program,
    verdict: Verdict,
    entries: Iterable[KnownFinding],
    selected: Selection,
    *,
    gone: Container[str] = frozenset(),
) -> Verdict:
    """The verdict without what the baseline holds, and with what the baseline holds in vain.

    Args:
        program: what was judged.
        verdict: what was said of it.
        entries: the baseline.
        selected: the rules that ran; of a rule that did not, no entry is stale.
        gone: files that no longer exist; of a file that was only not looked at, no entry is stale.
    """
    listed = {entry.fingerprint: entry for entry in entries}
    digests = _fingerprints(program, verdict)
    known = tuple(f for f in verdict.findings if digests[f] in listed and not _is_safety(f.id))
    matched = {digests[finding] for finding in known}
    checked = {selected.path_of(module.file): module.file for module in program.modules.values()}
    stale = tuple(
        entry
        for entry in listed.values()
        if entry.fingerprint not in matched
        and (entry.file in gone or (entry.file in checked and selected.ran(entry.id, checked[entry.file])))
    )
    covered = frozenset(known)
    left = tuple(finding for finding in verdict.findings if finding not in covered)
    return replace(verdict, findings=left, known=known, stale=stale)


def _entries(document: Any) -> tuple[KnownFinding, ...]:
    if document["version"] != 1:
        raise ValueError(document["version"])
    return tuple(KnownFinding(*(_text(entry[field]) for field in _FIELDS)) for entry in document["findings"])


def _fingerprints(program: Program, verdict: Verdict) -> dict[Finding, str]:
    suppressed = (item.finding for item in verdict.suppressed)
    return dict(fingerprints(program.modules.values(), (*verdict.findings, *verdict.known, *suppressed)))


def _is_safety(id: str) -> bool:
    entry = find_rule(id)
    return entry is not None and entry.rule.is_safety


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
