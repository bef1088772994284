"""`flowx inspect`: everything about one instance."""

from __future__ import annotations

from uuid import UUID

import click


@click.command("inspect", short_help="Show everything about one instance, and why it is stuck if it is.")
@click.argument("instance", type=click.UUID)
@click.option("--dsn", help="The PostgreSQL to look in (also FLOWX_DSN).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(instance: UUID, dsn: str | None, as_json: bool) -> None:
    """Show INSTANCE: its rows, waits and how to deliver to them, inbox, steps inside capabilities, events, family.

    Only looks, and takes no lease. Sensitive members are never shown. In the folder of its project it says more: how
    a signal is delivered, and whether this project has the plan that the instance is pinned to.
    """
    import asyncio

    from flowx_cli.operate.dossier import read_dossier
    from flowx_cli.operate.dossier_text import dossier_lines

    dossier = asyncio.run(read_dossier(instance, dsn))
    click.echo(dossier.as_json() if as_json else "\n".join(dossier_lines(dossier)))
