"""`flowx build`: check and compile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flowx_cli import exits
from flowx_cli.reporting import format_option, selection_options, show

if TYPE_CHECKING:
    from flowx_cli.judging import Asked
    from flowx_cli.watching import Snapshot
    from flowx_compiler.config import Config


@click.command("build")
@click.argument("project", default=Path(), type=click.Path(path_type=Path))
@format_option
@selection_options
@click.option("--check", is_flag=True, help="Write nothing; say no if a generated file is not what this source builds.")
@click.option("--fix", is_flag=True, help="Mend what has one right answer in the sources, then build.")
@click.option("--diff", is_flag=True, help="With --fix: show what it would change, and change nothing.")
@click.option("--watch", is_flag=True, help="Build again whenever a source changes, until interrupted.")
@click.option(
    "--prune",
    multiple=True,
    metavar="VERSION",
    help="Take the plans of an older version away (1.0.0, or order.place@1.0.0) unless open instances need them.",
)
@click.option("--dsn", help="With --prune: the PostgreSQL whose instances may need them (also FLOWX_DSN).")
@click.option("--no-cache", is_flag=True, help="Read every file anew; neither use nor write .flowx_cache.")
def command(
    project: Path,
    format_: str,
    statistics: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    check: bool,
    fix: bool,
    diff: bool,
    watch: bool,
    prune: tuple[str, ...],
    dsn: str | None,
    no_cache: bool,
) -> None:
    """Compile the flows of the project in PROJECT (default: this folder), as its [tool.flowx] says.

    Writes plan modules, their catalogue and the manifest; only files whose bytes changed, and nothing at all if
    something found is an error.
    """
    if diff and not fix:
        raise click.UsageError("--diff shows what --fix would change: give both")
    if check and (fix or watch or prune):
        raise click.UsageError("--check writes nothing: it goes with neither --fix nor --watch nor --prune")
    if dsn is not None and not prune:
        raise click.UsageError("--dsn says which instances --prune has to look for: give both")

    from flowx_cli.building import configured
    from flowx_cli.judging import Asked
    from flowx_compiler.errors import UsageProblem

    if not project.exists():
        raise UsageProblem(f"there is no file or folder {str(project)!r}: name one that exists")
    asked = Asked.of(select, ignore)
    if diff:
        raise SystemExit(_show_fixes(configured(project), asked))
    if prune:
        _prune(configured(project), prune, dsn)
    while True:
        configs = configured(project)
        if fix:
            _fix(configs, asked)
        before = _watched(configs) if watch else {}
        code = _build(configs, asked, format_=format_, statistics=statistics, check=check, no_cache=no_cache)
        if not watch:
            raise SystemExit(code)
        _wait(configs, before)


def _build(
    configs: Sequence[Config], asked: Asked, *, format_: str, statistics: bool, check: bool, no_cache: bool
) -> int:
    from flowx_cli.building import build_application
    from flowx_compiler.cache import Cache
    from flowx_compiler.errors import UsageProblem
    from flowx_compiler.report.report import together

    built = [
        build_application(config, check=check, asked=asked, cache=None if no_cache else Cache(config.root))
        for config in configs
    ]
    for application in built:
        if application.report.flow_count == 0 and not application.report.findings:
            sources = ", ".join(application.config.sources)
            raise UsageProblem(f"0 flows found in {sources}: name folders that hold flows in `sources`")
    # One document, however many applications there are.
    found = together(application.report for application in built)
    code = show(found, format_, with_statistics=statistics)
    for application in built:
        for path in application.written:
            click.echo(f"wrote {path}", err=True)
        for flow_id, version in application.restated:
            click.echo(
                f"{flow_id} {version} has another plan than before under the same version: instances that are parked "
                "under the former one cannot go on",
                err=True,
            )
        if application.unread:
            click.echo(f"flowx: {application.unread}", err=True)
            code = exits.COMMAND_WAS_WRONG
        if application.stale:
            code = exits.CHECK_SAYS_NO
    return code


def _fix(configs: Sequence[Config], asked: Asked) -> None:
    from flowx_cli.fixing import fix_application

    for config in configs:
        for file in fix_application(config, asked):
            click.echo(f"fixed {file}", err=True)


def _prune(configs: Sequence[Config], named: tuple[str, ...], dsn: str | None) -> None:
    from flowx_cli.pruning import StillNeeded, prune

    try:
        for path in prune(configs, named, dsn=dsn):
            click.echo(f"removed {path.relative_to(configs[0].root)}", err=True)
    except StillNeeded as needed:
        click.echo(f"flowx: {needed}", err=True)
        raise SystemExit(exits.CHECK_SAYS_NO) from None


def _show_fixes(configs: Sequence[Config], asked: Asked) -> int:
    from flowx_cli.fixing import fixes

    mended = [file for config in configs for file in fixes(config, asked)]
    for file in mended:
        click.echo(file.diff(), nl=False)
    return exits.CHECK_SAYS_NO if mended else exits.NOTHING_FOUND


def _folders(configs: Sequence[Config]) -> tuple[list[Path], list[Path]]:
    """Where sources are, and where plans go."""
    sources = [config.root / source for config in configs for source in config.sources]
    return sources, [config.root / config.plans_folder for config in configs]


def _watched(configs: Sequence[Config]) -> Snapshot:
    from flowx_cli.watching import snapshot

    return snapshot(*_folders(configs))


def _wait(configs: Sequence[Config], before: Snapshot) -> None:
    from flowx_cli.watching import wait_for_change

    click.echo("watching; interrupt to end", err=True)
    wait_for_change(before, *_folders(configs))
