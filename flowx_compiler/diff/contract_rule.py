"""From a difference without direction to findings of one side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.differences import Change, Difference
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.uses import Direction, Met


def contract_findings(
    comparison: Comparison,
    direction: Direction,
    by_change: Mapping[Change, Rule],
    advice: Callable[[Rule, Difference], str],
) -> Iterator[Finding]:
    """One finding for each place and rule, however many flows and capabilities share the contract."""
    for met in comparison.usage.met(direction):
        places: dict[tuple[str, str], list[tuple[Rule, Difference]]] = {}
        for difference in met.definition.differences:
            rule = by_change.get(difference.change)
            if rule is not None:
                places.setdefault((rule.number, difference.path), []).append((rule, difference))
        for (_, path), found in places.items():
            rule, first = found[0]
            hints = dict.fromkeys(difference.hint for _, difference in found if difference.hint)
            details = [*([] if _says(rule.title, first.change) else [first.change.value]), *hints]
            yield rule.finding(
                f"contract {met.old}{_member(path)}",
                _joined([difference.old for _, difference in found]),
                _joined([difference.new for _, difference in found]),
                summary=f"{rule.title} ({'; '.join(details)})" if details else rule.title,
                hurt=_hurt(rule, met),
                advice=advice(rule, first),
            )


def _says(title: str, change: Change) -> bool:
    return title.endswith(change.value) or (title.endswith("field added") and change.value.endswith("field added"))


def _member(path: str) -> str:
    return "" if not path else path if path.startswith(("[", "{")) else f".{path}"


def _joined(texts: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(text for text in texts if text))


def _hurt(rule: Rule, met: Met) -> str:
    users = "; ".join(met.users) + (f"; and {met.further_users} more" if met.further_users else "")
    return users if rule.verdict is Verdict.BREAKING else f"{rule.hurt}; seen by {users}"
