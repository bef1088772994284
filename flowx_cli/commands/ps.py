"""`flowx ps`: the instances there are."""

from __future__ import annotations

import click

_STATES = (
    "Pending",
    "Running",
    "Suspended",
    "Compensating",
    "Completed",
    "Failed",
    "TimedOut",
    "CompensationFailed",
    "Cancelled",
)


@click.command("ps", short_help="List instances: their state, what they wait for, why they failed.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(_STATES, case_sensitive=False),
    help="Only those in this state (may be repeated).",
)
@click.option("--flow", help="Only those of this flow.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="The most to show.")
@click.option("--dsn", help="The PostgreSQL to look in (also FLOWX_DSN).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(states: tuple[str, ...], flow: str | None, limit: int, dsn: str | None, as_json: bool) -> None:
    """List instances, newest first. Needs the database alone, not the project."""
    import asyncio

    from flowx_cli.operate.listing import list_instances
    from flowx_runtime.journal.records import Filter, State

    wanted = Filter(flow_id=flow, states=frozenset(State(state) for state in states), limit=limit)
    listing = asyncio.run(list_instances(wanted, dsn))
    click.echo(listing.as_json() if as_json else "\n".join(listing.lines()))
