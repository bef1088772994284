"""`flowx replay`: whether today's code would take the path that an instance took."""

from __future__ import annotations

from uuid import UUID

import click


@click.command("replay", short_help="Walk an instance's history again and say where today's code leaves it.")
@click.argument("instance", type=click.UUID)
@click.option("--dsn", help="A PostgreSQL to use instead of the embedded one (also FLOWX_DSN).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(instance: UUID, dsn: str | None, as_json: bool) -> None:
    """Walk the history of INSTANCE again with the plans of the project in this folder.

    Nothing is called, sent or written. Ends with 0 where today's plan takes the same path, else with 1 and the first
    row that differs.
    """
    import asyncio

    from flowx_cli.instances import replay, replayed_as_json, replayed_as_text

    replayed = asyncio.run(replay(instance, dsn=dsn))
    click.echo(replayed_as_json(replayed) if as_json else replayed_as_text(replayed))
    if not replayed.is_same:
        raise SystemExit(1)
