"""`flowx retry`: try again what of an instance failed."""

from __future__ import annotations

from uuid import UUID

import click

from flowx_cli import exits


@click.command("retry", short_help="Try failed undos again, or make a step's next attempt now.")
@click.argument("instance", type=click.UUID)
@click.option("--by", help="Who wants it; it is stored with a reopened instance. You, by default.")
@click.option("--dsn", help="A PostgreSQL to use instead of the embedded one (also FLOWX_DSN).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(instance: UUID, by: str | None, dsn: str | None, as_json: bool) -> None:
    """Try again, here and now, what of INSTANCE failed and may be tried again.

    CompensationFailed: the instance is reopened, and the undos that failed have all their attempts anew; a row says
    by whom. Suspended until the next attempt at a step: that attempt is made now, and counts as one of its policy's.

    It does not run a failed flow forwards. What a failed flow had done is undone, so there is nothing to go on from:
    start a new instance. It does not end a wait for a signal or for the clock, and it takes nothing from a node that
    works on the instance.

    Ends with 1 where what was tried failed again.
    """
    import asyncio
    import getpass

    from flowx_cli.instances import retry

    ran = asyncio.run(retry(instance, getpass.getuser() if by is None else by, dsn=dsn))
    click.echo(ran.as_json() if as_json else ran.as_text())
    if ran.has_failed_again:
        raise SystemExit(exits.CHECK_SAYS_NO)
