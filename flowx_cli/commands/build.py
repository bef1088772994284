"""`flowx build`: check and compile."""

from __future__ import annotations

from pathlib import Path

import click

from flowx_cli import exits
from flowx_cli.reporting import format_option, show


@click.command("build")
@click.argument("project", default=Path(), type=click.Path(path_type=Path))
@format_option
@click.option("--check", is_flag=True, help="Write nothing; say no if a generated file is not what this source builds.")
def command(project: Path, format_: str, check: bool) -> None:
    """Compile the flows of the project in PROJECT (default: this folder), as its [tool.flowx] says.

    Writes plan modules, their catalogue and the manifest; only files whose bytes changed, and nothing at all if
    something found is an error.
    """
    from flowx_cli.building import build_application, configured
    from flowx_compiler.errors import UsageProblem

    if not project.exists():
        raise UsageProblem(f"there is no file or folder {str(project)!r}: name one that exists")
    code = exits.NOTHING_FOUND
    for config in configured(project):
        built = build_application(config, check=check)
        code = max(code, show(built.build, format_))
        if built.build.flow_count == 0 and not built.build.findings:
            raise UsageProblem(
                f"0 flows found in {', '.join(config.sources)}: name folders that hold flows in `sources`"
            )
        for path in built.written:
            click.echo(f"wrote {path}", err=True)
        for path in built.stale:
            click.echo(f"{path} is not what this source builds: run `flowx build`", err=True)
            code = exits.CHECK_SAYS_NO
    raise SystemExit(code)
