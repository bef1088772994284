"""`flowx demo`: the main job in one command."""

from __future__ import annotations

import click


@click.command("demo", short_help="Build an example and watch it run on an embedded PostgreSQL.")
@click.argument("example", type=click.Choice(["polling", "offers"]), default="polling")
@click.option("--signal", "signal", is_flag=True, help="Deliver the signal early: the fast path.")
@click.option("--timeout", "timeout", is_flag=True, help="Let the wait run out: the escalation and the undo.")
@click.option("--dsn", help="A PostgreSQL to use instead of the embedded one (also FLOWX_DSN).")
def command(example: str, signal: bool, timeout: bool, dsn: str | None) -> None:
    """Build an example in a temporary copy with short waits, run it, and show what happens as it happens."""
    if signal and timeout:
        raise click.UsageError("--signal and --timeout are two different stories: give one of them")

    import asyncio
    import time

    from flowx_cli.building import build_project
    from flowx_cli.database import database
    from flowx_cli.demo.example_project import copied_example, shorten_waits
    from flowx_cli.demo.scenarios import SCENARIOS
    from flowx_cli.demo.tell import tell

    scenario = SCENARIOS[example](signal=signal, timeout=timeout)
    with copied_example(scenario.example) as project:
        click.echo(f"{scenario.title}: {scenario.flow_id}\n")
        shorten_waits(project, dict(scenario.waits))
        shortened = ", ".join(f"{name} = {value}" for name, value in scenario.waits.items())
        click.echo(f"built in a temporary copy, with short waits: {shortened}")
        built = build_project(project.root)
        for path in built.written:
            click.echo(f"  wrote {path}")
        started = time.monotonic()
        with database(dsn) as server:
            if server.is_embedded:
                click.echo(f"embedded PostgreSQL is up after {time.monotonic() - started:.1f} s")
            asyncio.run(tell(scenario, built.config, server, click.echo))
