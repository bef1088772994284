"""`flowx cancel`: stop an instance and undo what it has done."""

from __future__ import annotations

from uuid import UUID

import click


@click.command("cancel", short_help="Stop an instance and undo what it has done.")
@click.argument("instance", type=click.UUID)
@click.option("--reason", default="", help="Why; it is stored with the instance.")
@click.option("--dsn", help="A PostgreSQL to use instead of the embedded one (also FLOWX_DSN).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(instance: UUID, reason: str, dsn: str | None, as_json: bool) -> None:
    """Cancel INSTANCE of the project in this folder.

    A parked instance is undone at once and ends Cancelled. One that a service is working on goes back at its next
    boundary; the request is stored, so that it is met whatever happens.
    """
    import asyncio

    from flowx_cli.instances import cancel

    ran = asyncio.run(cancel(instance, reason, dsn=dsn))
    click.echo(ran.as_json() if as_json else ran.as_text())
