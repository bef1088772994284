"""`flowx build`: check and compile."""

from __future__ import annotations

from pathlib import Path

import click

from flowx_cli import exits
from flowx_cli.reporting import format_option, selection_options, show


@click.command("build")
@click.argument("project", default=Path(), type=click.Path(path_type=Path))
@format_option
@selection_options
@click.option("--check", is_flag=True, help="Write nothing; say no if a generated file is not what this source builds.")
@click.option("--no-cache", is_flag=True, help="Read every file anew; neither use nor write .flowx_cache.")
def command(
    project: Path,
    format_: str,
    statistics: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    check: bool,
    no_cache: bool,
) -> None:
    """Compile the flows of the project in PROJECT (default: this folder), as its [tool.flowx] says.

    Writes plan modules, their catalogue and the manifest; only files whose bytes changed, and nothing at all if
    something found is an error.
    """
    from flowx_cli.building import build_application, configured
    from flowx_cli.judging import Asked
    from flowx_compiler.cache import Cache
    from flowx_compiler.errors import UsageProblem
    from flowx_compiler.report.report import together

    if not project.exists():
        raise UsageProblem(f"there is no file or folder {str(project)!r}: name one that exists")
    configs = configured(project)
    asked = Asked.of(select, ignore)
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
        for path in application.stale:
            click.echo(f"{path} is not what this source builds: run `flowx build`", err=True)
            code = exits.CHECK_SAYS_NO
    raise SystemExit(code)
