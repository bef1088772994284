"""Source excerpts with carets, as a person meets a finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flowx_compiler.findings import Finding, Place, Severity
from flowx_compiler.report.marked_line import mark
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
    for number, (place, label, sign, paint) in enumerate(places):
        corner = "┌─" if number == 0 else "├─"
        where = f"{place.file}:{place.span.line}:{place.span.column}"
        parts.append(f"{' ' * width} {style.note(corner)} {where}")
        parts += _excerpt(place, label, sign, line=_line(lines, place), width=width, paint=paint, style=style)
    margin = " " * width
    if finding.help:
        parts.append(f"{margin} {style.note('=')} help: {finding.help}")
    parts.append(f"{margin} {style.note('=')} docs: flowx explain {finding.id}")
    return "\n".join(parts)


def _excerpt(
    place: Place,
    label: str,
    sign: str,
    *,
    line: str | None,
    width: int,
    paint: Callable[[str], str],
    style: Style,
) -> list[str]:
    bar = style.note("│")
    if line is None:
        return [f"{' ' * width} {bar} {label}"] if label else []
    shown = mark(line, place.span)
    pointer = f"{' ' * shown.start}{paint(f'{sign * shown.length} {label}'.rstrip())}"
    return [f"{place.span.line:>{width}} {bar} {shown.text}", f"{' ' * width} {bar} {pointer}"]


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
