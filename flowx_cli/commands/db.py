"""`flowx db`: the journal's database."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

import click

from flowx_cli import exits

_STATES = ("Completed", "Failed", "TimedOut", "CompensationFailed", "Cancelled")

F = TypeVar("F", bound=Callable[..., None])


def _options(function: F) -> F:
    function = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(function)
    return click.option("--dsn", help="The PostgreSQL to work on (also FLOWX_DSN).")(function)


@click.group("db", short_help="The database: its schema, how it stands, what is old in it.")
def command() -> None:
    """Work on the database that flows are kept in.

    Without a DSN this is the project's embedded one, if `flowx run` or `flowx worker` has made it.
    """


@command.command("migrate")
@_options
def migrate(dsn: str | None, as_json: bool) -> None:
    """Bring the schema up to date, and say what was applied.

    Migrations only add: nodes of the previous version go on meanwhile. Run it before nodes of a new version start.
    """
    import asyncio

    from flowx_cli.administration import migrate_database

    applied = asyncio.run(migrate_database(dsn))
    if as_json:
        click.echo(
            json.dumps({"applied": [{"version": each.version, "name": each.name} for each in applied]}, indent=2)
        )
        return
    for each in applied:
        click.echo(f"applied {each.version:04} {each.name}")
    if not applied:
        click.echo("nothing to apply: the schema is up to date")


@command.command("status")
@_options
def status(dsn: str | None, as_json: bool) -> None:
    """Show the schema's version, instances by state, what is overdue, leases and the outbox.

    Ends with 1 where the schema is not of this version.
    """
    import asyncio

    from flowx_cli.administration import look_at_database

    standing = asyncio.run(look_at_database(dsn))
    click.echo(json.dumps(standing.document(), indent=2) if as_json else "\n".join(standing.lines()))
    if not standing.schema.is_current:
        raise SystemExit(exits.CHECK_SAYS_NO)


@command.command("prune")
@click.option(
    "--older-than", required=True, metavar="DURATION", help="Such as P30D: last written longer ago than that."
)
@click.option(
    "--state", "states", multiple=True, type=click.Choice(_STATES), help="Only these; all ended ones without."
)
@_options
def prune(older_than: str, states: tuple[str, ...], dsn: str | None, as_json: bool) -> None:
    """Remove ended instances with their rows, and say how many.

    Never one that is open, that has an event which is neither published nor dropped, or whose parent is open.
    """
    import asyncio

    from flowx_cli.administration import prune_database, pruned_document
    from flowx_runtime.authoring.durations import InvalidDuration, parse_duration
    from flowx_runtime.journal.records import State

    try:
        age = parse_duration(older_than)
    except InvalidDuration as wrong:
        raise click.UsageError(f"--older-than: {wrong}") from None
    pruned = asyncio.run(prune_database(dsn, age, [State(state) for state in states or _STATES]))
    if as_json:
        click.echo(json.dumps(pruned_document(pruned), indent=2))
        return
    click.echo(
        f"removed {pruned.instances} instances with {pruned.steps} steps, {pruned.events} events and "
        f"{pruned.deliveries} deliveries"
    )
