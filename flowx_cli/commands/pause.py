"""`flowx pause`: have no node go on with something."""

from __future__ import annotations

import click


@click.command("pause", short_help="Have no node begin or go on with a flow, an instance or everything.")
@click.argument("target", required=False)
@click.option("--all", "is_all", is_flag=True, help="Pause everything.")
@click.option("--reason", default="", help="Why; whoever looks sees it.")
@click.option("--dsn", help="The PostgreSQL to work on (also FLOWX_DSN).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(target: str | None, is_all: bool, reason: str, dsn: str | None, as_json: bool) -> None:
    """Pause TARGET: a flow's id or an instance's. Needs the database alone, not the project.

    No node goes on with its instances or fires its schedules; what is under way goes on to its next park. Starts and
    signals are accepted and kept: their instances go on when `flowx unpause` says so. Occurrences of schedules that
    fall due meanwhile are missed, and met by their policy then. Waits and deadlines go on counting. A pause lasts
    until it is taken back, whatever is deployed or restarted.
    """
    import asyncio

    from flowx_cli.operate.pausing import pause, target_of

    paused = asyncio.run(pause(target_of(target, is_all=is_all), reason, dsn))
    click.echo(paused.as_json() if as_json else paused.as_text())
