"""`flowx signal`: deliver a signal to an instance."""

from __future__ import annotations

from uuid import UUID

import click


@click.command("signal", short_help="Deliver a signal to an instance.")
@click.argument("instance", type=click.UUID)
@click.argument("signal")
@click.option("--data", required=True, metavar="JSON|@FILE", help="What the signal carries.")
@click.option("--delivery-id", help="The same id twice is one delivery.")
@click.option("--dsn", help="A PostgreSQL to use instead of the embedded one (also FLOWX_DSN).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(instance: UUID, signal: str, data: str, delivery_id: str | None, dsn: str | None, as_json: bool) -> None:
    """Deliver SIGNAL (an id such as `ocr.completed`) to INSTANCE of the project in this folder.

    If the instance waits for it, it goes on before this returns. A signal that comes before its wait opens is kept
    for it. An instance that has ended takes none.
    """
    import asyncio

    from flowx_cli.operate.signalling import deliver

    ran = asyncio.run(deliver(instance, signal, data, delivery_id, dsn=dsn))
    click.echo(ran.as_json() if as_json else ran.as_text())
