"""`flowx graph`: a flow as a picture."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import click


@click.command("graph", short_help="Draw a flow, or the path of an instance through it.")
@click.option("--flow", help="Which one (`order.place`, or `order.place@1.0.0`); without it, the project's only flow.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["mermaid", "dot", "svg", "html"]),
    help="How; without it as the name after -o says, else mermaid.",
)
@click.option("--instance", type=click.UUID, help="Draw its path, what failed and what it waits for.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--dsn", help="With --instance: the PostgreSQL to look in (also FLOWX_DSN).")
def command(flow: str | None, format_: str | None, instance: UUID | None, output: Path | None, dsn: str | None) -> None:
    """Draw a flow of the project in this folder from its compiled plan.

    Needs no network, browser or other program. With --instance the picture is of the very plan that the instance is
    pinned to: its path is green, what failed red, open waits amber, what was undone purple.
    """
    import asyncio

    from flowx_cli.graph.asking import drawn_flow, drawn_instance
    from flowx_cli.writing import write_text

    written_as = format_ or _FORMATS.get(output.suffix if output is not None else "", "mermaid")
    if instance is None:
        text = drawn_flow(flow, written_as)
    elif flow is not None:
        raise click.UsageError("an instance knows its flow: give --instance or --flow")
    else:
        text = asyncio.run(drawn_instance(instance, written_as, dsn=dsn))
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
    click.echo(f"wrote {output}", err=True)


_FORMATS = {".mmd": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg", ".html": "html"}
