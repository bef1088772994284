"""Source excerpts with carets, as a person meets a finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowx_compiler.findings import Finding, Place, Severity
from flowx_compiler.report.style import Style

Lines = Mapping[str, Sequence[str]]
"""The lines of each file that a finding may be in."""


def render_text(findings: Sequence[Finding], lines: Lines, style: Style) -> str:
    """Every finding with its excerpts, then one line that counts them."""
    blocks = [_finding(finding, lines, style) for finding in findings]
    return "\n\n".join([*blocks, _summary(findings, style)]) + "\n"


def _finding(finding: Finding, lines: Lines, style: Style) -> str:
    colour = style.error if finding.severity is Severity.ERROR else style.warning
    head = f"{colour(f'{finding.severity.value}[{finding.id}]')}: {style.strong(finding.message)}"
    places = [(finding.place, finding.label, "^", colour)]
    places += [(related.place, related.message, "-", style.note) for related in finding.related]
    shown = [place for place, *_ in places if _line(lines, place) is not None]
    width = max((len(str(place.span.line)) for place in shown), default=1)
    parts = [head]
    for number, (place, label, mark, paint) in enumerate(places):
        corner = "┌─" if number == 0 else "├─"
        where = f"{place.file}:{place.span.line}:{place.span.column}"
        parts.append(f"{' ' * width} {style.note(corner)} {where}")
        parts += _excerpt(place, label, mark, _line(lines, place), width, paint, style)
    margin = " " * width
    if finding.help:
        parts.append(f"{margin} {style.note('=')} help: {finding.help}")
    parts.append(f"{margin} {style.note('=')} docs: flowx explain {finding.id}")
    return "\n".join(parts)


def _excerpt(
    place: Place,
    label: str,
    mark: str,
    line: str | None,
    width: int,
    paint: object,
    style: Style,
) -> list[str]:
    if line is None or not callable(paint):
        return [f"{' ' * width} {style.note('│')} {label}"] if label else []
    span = place.span
    end = span.end_column if span.end_line == span.line else len(line) + 1
    # A tab before the caret stays a tab, so that both lines are indented alike.
    before = "".join("\t" if letter == "\t" else " " for letter in line[: span.column - 1])
    carets = mark * max(1, min(end, len(line) + 1) - span.column)
    pointer = f"{before}{paint(f'{carets} {label}'.rstrip())}"
    bar = style.note("│")
    return [f"{span.line:>{width}} {bar} {line}", f"{' ' * width} {bar} {pointer}"]


def _line(lines: Lines, place: Place) -> str | None:
    of_file = lines.get(place.file)
    return of_file[place.span.line - 1] if of_file and place.span.line <= len(of_file) else None


def _summary(findings: Sequence[Finding], style: Style) -> str:
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    warnings = len(findings) - errors
    if not findings:
        return style.strong("nothing found")
    counts = [_count(errors, "error")] if errors else []
    counts += [_count(warnings, "warning")] if warnings else []
    return style.strong(" and ".join(counts))


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
