"""`flowx demo`: the main job in one command."""

from __future__ import annotations

import click


@click.command("demo", short_help="Build an example and watch it run on an embedded PostgreSQL.")
@click.argument("example", type=click.Choice(["polling", "offers", "workflow", "once"]), default="polling")
@click.option("--signal", "signal", is_flag=True, help="Deliver the signal early: the fast path.")
@click.option("--timeout", "timeout", is_flag=True, help="Let the wait run out: the escalation and the undo.")
@click.option("--fail", "fail", is_flag=True, help="Let the last step fail: everything before it is undone.")
@click.option("--kill", "kill", is_flag=True, help="Kill the node between an effect and its record.")
@click.option("--dsn", help="A PostgreSQL to use instead of the embedded one (also FLOWX_DSN).")
def command(example: str, signal: bool, timeout: bool, fail: bool, kill: bool, dsn: str | None) -> None:
    """Build an example in a temporary copy with short waits, run it, and show what happens as it happens.

    polling (a document is read by a slow provider) and offers (a signature is awaited) have --signal and --timeout;
    workflow (a saga with a child) has --fail; once (a charge through a processor that is down twice) has --kill.
    """
    asked = [
        name
        for name, is_asked in (("signal", signal), ("timeout", timeout), ("fail", fail), ("kill", kill))
        if is_asked
    ]
    for name in asked:
        if name not in _STORIES[example]:
            raise click.UsageError(f"the demo {example!r} has no story --{name}")
    if len(asked) > 1:
        raise click.UsageError("--signal and --timeout are two different stories: give one of them")

    import asyncio
    import time

    from flowx_cli.building import build_project
    from flowx_cli.database import database
    from flowx_cli.demo.example_project import copied_example, shorten_waits
    from flowx_cli.demo.scenarios import SCENARIOS
    from flowx_cli.demo.tell import tell

    scenario = SCENARIOS[example](**dict.fromkeys(asked, True))
    with copied_example(scenario.example) as project:
        click.echo(f"{scenario.title}: {scenario.flow_id}\n")
        shorten_waits(project, dict(scenario.waits), module=scenario.waits_in)
        shortened = ", ".join(f"{name} = {value}" for name, value in scenario.waits.items())
        click.echo("built in a temporary copy" + (f", with short waits: {shortened}" if shortened else ""))
        built = build_project(project.root)
        for path in built.written:
            click.echo(f"  wrote {path}")
        started = time.monotonic()
        with database(dsn) as server:
            if server.is_embedded:
                click.echo(f"embedded PostgreSQL is up after {time.monotonic() - started:.1f} s")
            asyncio.run(tell(scenario, built.config, server, click.echo))


_STORIES = {"polling": ("signal", "timeout"), "offers": ("signal", "timeout"), "workflow": ("fail",), "once": ("kill",)}
"""What else can happen in each example."""
