"""`flowx verify`: whether flows pay for what they do not use."""

from __future__ import annotations

import click

from flowx_cli import exits


@click.command("verify", short_help="Find durable flows that use nothing of being durable.")
@click.option("--cost", is_flag=True, help="Flows that pay for a journal they have no use for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(cost: bool, as_json: bool) -> None:
    """Look at the built flows of the project in this folder.

    With --cost: durable flows without a wait, poll, undo, retry, step inside a capability, sub-flow, event, schedule
    or idempotent request, and without an effect that later steps follow. Such a flow would do the same in memory.
    One that another flow composes is not looked at. Ends with 1 where there is one.
    """
    if not cost:
        raise click.UsageError("say what to look for: --cost")

    from flowx_cli.cost import look_for_cost

    found = look_for_cost()
    click.echo(found.as_json() if as_json else "\n".join(found.lines()))
    if found.found:
        raise SystemExit(exits.CHECK_SAYS_NO)
