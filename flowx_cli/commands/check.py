"""`flowx check`: diagnostics only."""

from __future__ import annotations

from pathlib import Path

import click

from flowx_cli.reporting import format_option, show


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@format_option
@click.option("--allow-empty", is_flag=True, help="Finding no flow at all is fine.")
def command(paths: tuple[Path, ...], format_: str, allow_empty: bool) -> None:
    """Check every Python file under PATHS (default: this folder). Writes nothing and needs no configuration."""
    from flowx_compiler.build import analyse
    from flowx_compiler.discover import discover

    build = analyse(discover(paths or (Path(),), base=Path()))
    code = show(build, format_)
    if build.flow_count == 0 and not build.findings and not allow_empty:
        raise click.UsageError("0 flows found: name a path that holds flows, or say --allow-empty")
    raise SystemExit(code)
