"""`flowx explain`: the page of a rule, or of a code of `flowx diff`."""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from flowx_cli import exits

_OF_DIFF = re.compile(r"(?:(?:FLOWX-?)?DIFF-?)?(\d{3})")
"""A code in full, without its prefix, or its number alone: the compiler's numbers have four digits."""


@click.command("explain")
@click.argument("rule")
def command(rule: str) -> None:
    """Say why RULE is there: one that the compiler reports (FLOWX1044), or one of `flowx diff` (FLOWX-DIFF-040).

    A compiler's rule comes with an example that it refuses and one that it accepts.
    """
    wanted = rule.strip().upper().replace("_", "-")
    number = _OF_DIFF.fullmatch(wanted)
    shown = _of_compiler(wanted) if number is None else _of_diff(number[1])
    if shown is None:
        click.echo(f"flowx: there is no rule {rule!r}{_suggestion(wanted)}", err=True)
        raise SystemExit(exits.NOT_THERE)
    click.echo(shown, nl=False)


def _of_compiler(rule: str) -> str | None:
    from flowx_compiler.rules.page import page
    from flowx_compiler.rules.registry import find_rule

    found = find_rule(rule)
    return None if found is None else page(found)


def _of_diff(number: str) -> str | None:
    from flowx_compiler.diff.pages import page
    from flowx_compiler.diff.registry import families

    for family in families():
        for rule in family.RULES:
            if rule.number == number:
                return page(rule, family)
    return None


def _suggestion(wanted: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(wanted, list(_known()), n=3, cutoff=0.7)
    if close:
        return f": did you mean {' or '.join(close)}?"
    return "; `flowx check` and `flowx diff` name the rules they report"


def _known() -> Iterable[str]:
    from flowx_compiler.diff.registry import rules
    from flowx_compiler.rules.registry import rule_ids

    yield from rule_ids()
    yield from (rule.code for rule in rules())
