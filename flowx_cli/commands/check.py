"""`flowx check`: diagnostics only."""

from __future__ import annotations

from pathlib import Path

import click

from flowx_cli.reporting import format_option, selection_options, show


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@format_option
@selection_options
@click.option("--allow-empty", is_flag=True, help="Finding no flow at all is fine.")
@click.option(
    "--write-baseline",
    "baseline",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write what this finds to FILE, for `baseline` in [tool.flowx]; except what safety rules find.",
)
def command(
    paths: tuple[Path, ...],
    format_: str,
    statistics: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    allow_empty: bool,
    baseline: Path | None,
) -> None:
    """Check every Python file under PATHS (default: this folder). Writes nothing and needs no configuration.

    Where there is a [tool.flowx], its settings about rules hold here too.
    """
    from flowx_cli.judging import Asked, Judgement, judgement, settings_at
    from flowx_compiler.baseline import parse_baseline, render_baseline
    from flowx_compiler.build import analyse
    from flowx_compiler.discover import discover
    from flowx_compiler.errors import UsageProblem
    from flowx_compiler.report.report import report

    files = discover(paths or (Path(),), base=Path())
    config = settings_at(paths[0] if paths else Path())
    judge = judgement(config, Asked.of(select, ignore), base=Path(), with_baseline=baseline is None)
    build = analyse(files, judge)
    if baseline is not None:
        text = render_baseline(build.program, build.verdict, judge.selected)
        try:
            baseline.write_text(text, "utf-8")
        except OSError as error:
            raise UsageProblem(f"the baseline {baseline} cannot be written: {error.strerror}") from error
        build = analyse(files, Judgement(judge.selected, parse_baseline(text, str(baseline))))
    code = show(report(build.program, build.verdict), format_, with_statistics=statistics)
    if build.flow_count == 0 and not build.findings and not allow_empty:
        raise click.UsageError("0 flows found: name a path that holds flows, or say --allow-empty")
    raise SystemExit(code)
