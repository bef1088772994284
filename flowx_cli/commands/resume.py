"""`flowx resume`: go on with an instance now."""

from __future__ import annotations

from uuid import UUID

import click

from flowx_cli import exits


@click.command("resume", short_help="Go on with an instance now, if nobody else does.")
@click.argument("instance", type=click.UUID)
@click.option("--dsn", help="A PostgreSQL to use instead of the embedded one (also FLOWX_DSN).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(instance: UUID, dsn: str | None, as_json: bool) -> None:
    """Go on with INSTANCE of the project in this folder, here and now, until it parks or ends.

    For an instance that its node left, or that is due and that no node takes up. It ends no wait: one that is not due
    parks again as it was. One that somebody works on (`flowx inspect` says who), or that has ended, stays as it is.
    Ends with 1 where the instance has failed.
    """
    import asyncio

    from flowx_cli.instances import resume

    ran = asyncio.run(resume(instance, dsn=dsn))
    click.echo(ran.as_json() if as_json else ran.as_text())
    if ran.has_failed:
        raise SystemExit(exits.CHECK_SAYS_NO)
