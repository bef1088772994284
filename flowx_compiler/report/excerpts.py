"""Source excerpts with carets, as a person meets a finding."""

from __future__ import annotations

from collections.abc import Callable

from flowx_compiler.findings import Finding, Place, Severity
from flowx_compiler.report.marked_line import mark
from flowx_compiler.report.report import Lines, Report
from flowx_compiler.report.style import Style


def render_text(report: Report, style: Style) -> str:
    """Every finding with its excerpts, then one line that counts them and what is not shown."""
    blocks = [_finding(finding, report.lines, style) for finding in report.findings]
    stale = [
        f"no longer found, though in the baseline: {entry.id} in {entry.file}: {entry.message}"
        for entry in report.stale
    ]
    return "\n\n".join([*blocks, "\n".join([*stale, _summary(report, style)])]) + "\n"


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


def _summary(report: Report, style: Style) -> str:
    counts = [_count(number, severity.value) for severity in Severity if (number := report.count(severity))]
    unseen = [f"{len(report.suppressed)} suppressed"] if report.suppressed else []
    unseen += [f"{report.known_count} in the baseline"] if report.known_count else []
    if report.stale:
        entries = "stale baseline entry" if len(report.stale) == 1 else "stale baseline entries"
        unseen.append(f"{len(report.stale)} {entries}: write it again with `flowx check --write-baseline`")
    rest = f" ({', '.join(unseen)})" if unseen else ""
    flows = _count(report.flow_count, "flow")
    return f"{style.strong(' and '.join(counts) or 'nothing found')} in {flows}{rest}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
