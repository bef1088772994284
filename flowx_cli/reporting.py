"""Shows findings in the format that was asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flowx_cli import exits
from flowx_cli.terminal import has_colour
from flowx_compiler.findings import Severity

if TYPE_CHECKING:
    from flowx_compiler.report.report import Report

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


def format_option(function: Callable[..., None]) -> Callable[..., None]:
    """`--format` and `--statistics`."""
    help_text = "How to show what was found."
    function = click.option("--statistics", is_flag=True, help="Also count the findings of each rule.")(function)
    return click.option("--format", "format_", type=click.Choice(FORMATS), default="text", help=help_text)(function)


def selection_options(function: Callable[..., None]) -> Callable[..., None]:
    """`--select` and `--ignore`."""
    ignore = "Not these rules, and none that [tool.flowx] ignores. A safety rule is never ignored."
    select = "Only these rules (FLOWX1012,FLOWX1043) and the safety rules."
    function = click.option("--ignore", multiple=True, metavar="IDS", help=ignore)(function)
    return click.option("--select", multiple=True, metavar="IDS", help=select)(function)


def show(report: Report, format_: str, *, with_statistics: bool = False) -> int:
    """Print the findings; gives the exit code they mean."""
    # Left to itself, click takes the colour out of a pipe, also where it was asked for.
    click.echo(render(report, format_, with_statistics=with_statistics), nl=False, color=has_colour())
    if with_statistics and format_ != "json":
        from flowx_compiler.report.statistics import render_statistics

        # A document on the output stays a document.
        click.echo(render_statistics(report.findings), nl=False, err=format_ not in ("text", "concise"))
    if format_ == "github":
        _write_step_summary(report)
    return exits.CHECK_SAYS_NO if report.count(Severity.ERROR) else exits.NOTHING_FOUND


def render(report: Report, format_: str, *, with_statistics: bool = False) -> str:
    """The findings in a format; only that format's module is imported."""
    match format_:
        case "json":
            from flowx_compiler.report.json import render_json

            return render_json(report, with_statistics=with_statistics)
        case "concise":
            from flowx_compiler.report.concise import render_concise

            return render_concise(report)
        case "sarif":
            from flowx_compiler.report.sarif import render_sarif

            return render_sarif(report)
        case "github":
            from flowx_compiler.report.github import render_github

            return render_github(report)
        case "gitlab":
            from flowx_compiler.report.gitlab import render_gitlab

            return render_gitlab(report)
        case "junit":
            from flowx_compiler.report.junit import render_junit

            return render_junit(report)
        case _:
            from flowx_compiler.report.excerpts import render_text
            from flowx_compiler.report.style import Style

            return render_text(report, Style(has_colour()))


def _write_step_summary(report: Report) -> None:
    """Annotations show ten findings of a kind; the summary of the step shows all."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        from flowx_compiler.report.github import render_summary

        with Path(path).open("a", encoding="utf-8") as summary:
            summary.write(render_summary(report))
