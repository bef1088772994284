"""`flowx init`: a project to begin with."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("init", short_help="Begin a project: one flow, its capabilities, one test.")
@click.argument("folder", metavar="[DIR]", default=Path(), type=click.Path(path_type=Path, file_okay=False))
def command(folder: Path) -> None:
    """Begin a project in DIR (default: this folder), named after it. Nothing that is there is overwritten."""
    from flowx_cli.building import build_project
    from flowx_cli.starter import begin_project

    for path in (*begin_project(folder), *build_project(folder).written):
        click.echo(f"wrote {folder / path}")
    enter = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    click.echo(f'\n{enter}flowx run room.book --input \'{{"guest": "Ada", "nights": 2}}\'')
    click.echo(f"{enter}python -m pytest")
