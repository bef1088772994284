"""`flowx worker`: a node that goes on with flows, fires schedules and publishes events."""

from __future__ import annotations

import click

from flowx_cli.logs import FORMATS


@click.command("worker", short_help="Be a node: wake, recover, schedule and publish, until SIGTERM.")
@click.option("--plans", metavar="PACKAGE", help="The package of plans, instead of the one [tool.flowx] names.")
@click.option("--dsn", help="The PostgreSQL to work on, instead of the embedded one (also FLOWX_DSN).")
@click.option(
    "--direct-dsn",
    envvar="FLOWX_DIRECT_DSN",
    help="The same database past a pooler, for one connection (also FLOWX_DIRECT_DSN).",
)
@click.option("--concurrency", type=click.IntRange(1), default=256, show_default=True, help="Instances at a time.")
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long what is under way may take when the worker is told to stop.",
)
@click.option("--health-port", type=click.IntRange(0, 65535), help="Answer /healthz and /readyz here (0: a free port).")
@click.option(
    "--http", "http_port", type=click.IntRange(0, 65535), help="Serve the flows' routes here (0: a free port)."
)
@click.option(
    "--log-format", type=click.Choice(FORMATS), default="text", show_default=True, help="How to write the log."
)
def command(
    plans: str | None,
    dsn: str | None,
    direct_dsn: str | None,
    concurrency: int,
    drain: float,
    health_port: int | None,
    http_port: int | None,
    log_format: str,
) -> None:
    """Be a node of the project in this folder until SIGTERM or SIGINT.

    It wakes what is due, goes on with what other nodes left, fires schedules, and publishes events by the publisher
    that `[tool.flowx] publisher = "package.module:function"` gives. With --http it also serves the flows' routes, to
    the callers that `[tool.flowx] authenticator = "package.module:name"` knows. Told to stop, it takes nothing new and
    lets what is under way park or end; a second signal ends at once. The database needs `flowx db migrate` first.
    """
    import asyncio
    from datetime import timedelta

    from flowx_cli.logs import write_log
    from flowx_cli.working import Order, work

    write_log(log_format)
    order = Order(plans, dsn, direct_dsn, concurrency, timedelta(seconds=drain), health_port, http_port)
    try:
        asyncio.run(work(order))
    except asyncio.CancelledError:
        raise SystemExit(1) from None
