"""`flowx explain`: a rule's page."""

from __future__ import annotations

import click

from flowx_cli import exits


@click.command("explain")
@click.argument("rule")
def command(rule: str) -> None:
    """Say why RULE (such as FLOWX1044) is there, with an example that it refuses and one that it accepts."""
    from flowx_compiler.rules.page import page
    from flowx_compiler.rules.registry import find_rule

    found = find_rule(rule)
    if found is None:
        click.echo(f"flowx: there is no rule {rule!r}; `flowx check` names the rules it reports", err=True)
        raise SystemExit(exits.NOT_THERE)
    click.echo(page(found), nl=False)
