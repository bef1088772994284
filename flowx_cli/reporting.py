"""Shows findings in the format that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from flowx_cli import exits
from flowx_cli.terminal import has_colour

if TYPE_CHECKING:
    from flowx_compiler.build import Build

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


def format_option(function: Callable[..., None]) -> Callable[..., None]:
    """`--format`."""
    help_text = "How to show what was found."
    return click.option("--format", "format_", type=click.Choice(FORMATS), default="text", help=help_text)(function)


def show(build: Build, format_: str) -> int:
    """Print the findings; gives the exit code they mean."""
    click.echo(render(build, format_), nl=False)
    return exits.CHECK_SAYS_NO if build.has_errors else exits.NOTHING_FOUND


def render(build: Build, format_: str) -> str:
    """The findings in a format; only that format's module is imported."""
    match format_:
        case "json":
            from flowx_compiler.report.json import render_json

            return render_json(build.findings)
        case "concise":
            from flowx_compiler.report.concise import render_concise

            return render_concise(build.findings)
        case "sarif":
            from flowx_compiler.report.sarif import render_sarif

            return render_sarif(build.findings, _lines(build))
        case "github":
            from flowx_compiler.report.github import render_github

            return render_github(build.findings)
        case "gitlab":
            from flowx_compiler.report.gitlab import render_gitlab

            return render_gitlab(build.findings, _lines(build))
        case "junit":
            from flowx_compiler.report.junit import render_junit

            return render_junit(build.findings)
        case _:
            return _text(build)


def _text(build: Build) -> str:
    from flowx_compiler.report.excerpts import render_text
    from flowx_compiler.report.style import Style

    flows = f"{build.flow_count} flow{'' if build.flow_count == 1 else 's'}"
    return render_text(build.findings, _lines(build), Style(has_colour())).rstrip("\n") + f" in {flows}\n"


def _lines(build: Build) -> dict[str, Sequence[str]]:
    return {module.file: module.lines for module in build.program.modules.values()}
