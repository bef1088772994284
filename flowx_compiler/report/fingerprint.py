"""What makes a finding the same finding after lines above it have moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256

from flowx_compiler.findings import Finding
from flowx_compiler.report.excerpts import Lines


def fingerprinted(findings: Sequence[Finding], lines: Lines) -> Iterator[tuple[Finding, str]]:
    """Every finding with a digest of its id, file, message and source text, and of how many equal ones came before."""
    seen: Counter[tuple[str, ...]] = Counter()
    for finding in findings:
        key = (finding.id, finding.place.file, finding.message, _text(finding, lines))
        seen[key] += 1
        yield finding, sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "surrogateescape")).hexdigest()


def _text(finding: Finding, lines: Lines) -> str:
    of_file = lines.get(finding.place.file, ())
    number = finding.place.span.line
    return of_file[number - 1].strip() if number <= len(of_file) else ""
