"""`flowx run`: run one built flow once."""

from __future__ import annotations

import click


@click.command("run", short_help="Run one built flow and print its outcome and history.")
@click.argument("flow")
@click.option("--input", "input_text", required=True, metavar="JSON|@FILE", help="The flow's input.")
@click.option("--wait", is_flag=True, help="Stay until the flow has ended, through its waits.")
@click.option("--key", help="An idempotency key: the same key is the same run.")
@click.option("--dsn", help="A PostgreSQL to use instead of the embedded one (also FLOWX_DSN).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(flow: str, input_text: str, wait: bool, key: str | None, dsn: str | None, as_json: bool) -> None:
    """Run FLOW (an id such as `document.process`) of the project in this folder.

    Without a DSN, an embedded PostgreSQL keeps its data in `.flowx/postgres`, so that a flow that waits is still
    there next time.
    """
    import asyncio

    from flowx_cli.running import run_once

    outcome = asyncio.run(run_once(flow, input_text, wait=wait, key=key, dsn=dsn))
    for remark in outcome.remarks:
        click.echo(f"flowx: {remark}", err=True)
    click.echo(outcome.as_json() if as_json else outcome.as_text())
    if outcome.has_failed or outcome.is_stranded:
        raise SystemExit(1)
