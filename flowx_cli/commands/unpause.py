"""`flowx unpause`: let nodes go on with what was paused."""

from __future__ import annotations

import click


@click.command("unpause", short_help="Take a pause back: nodes go on at once.")
@click.argument("target", required=False)
@click.option("--all", "is_all", is_flag=True, help="What was paused with `--all`; other pauses stay.")
@click.option("--dsn", help="The PostgreSQL to work on (also FLOWX_DSN).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(target: str | None, is_all: bool, dsn: str | None, as_json: bool) -> None:
    """Take back the pause of TARGET, a flow's id or an instance's. Needs the database alone, not the project.

    Each pause stands by itself: a flow whose pause is taken back stays still while everything is paused. Ends with 3
    where TARGET was not paused.
    """
    import asyncio

    from flowx_cli.operate.pausing import target_of, unpause

    unpaused = asyncio.run(unpause(target_of(target, is_all=is_all), dsn))
    click.echo(unpaused.as_json() if as_json else unpaused.as_text())
