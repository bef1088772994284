"""`flowx diff`: what changed in the contract between two manifests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from flowx_cli import exits

if TYPE_CHECKING:
    from flowx_compiler.diff.compare import Report
    from flowx_compiler.diff.rule import Verdict

_CLASSES = ("breaking", "additive", "neutral")
_FORMATS = ("text", "json", "markdown", "github")


@click.command("diff")
@click.argument("old", required=False, type=click.Path(path_type=Path))
@click.argument("new", required=False, type=click.Path(path_type=Path))
@click.option("--against", metavar="REV", help="Compare with the manifest where this branch left REV.")
@click.option("--exact", is_flag=True, help="With --against: compare with REV itself.")
@click.option(
    "--manifest",
    type=click.Path(path_type=Path),
    help="With --against: the manifest. Default: the one that [tool.flowx] names.",
)
@click.option("--fail-on", type=click.Choice(_CLASSES), default="breaking", help="The least class that exits 1.")
@click.option("--format", "format_", type=click.Choice(_FORMATS), default="text", help="How to show what changed.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the report there; the exit code stays.")
@click.option("--allow-missing", is_flag=True, help="With --against: exit 0 when the revision has no manifest yet.")
@click.option("--require-different", is_flag=True, help="Exit 2 when both are the same document.")
def command(
    old: Path | None,
    new: Path | None,
    against: str | None,
    exact: bool,
    manifest: Path | None,
    fail_on: str,
    format_: str,
    output: Path | None,
    allow_missing: bool,
    require_different: bool,
) -> None:
    """Compare OLD with NEW, or with --against the manifest of this work tree with the one at a git revision.

    Exits 1 when something breaks.
    """
    from flowx_compiler.diff.errors import DiffProblem, NoManifestYet, NotThere
    from flowx_compiler.diff.rule import Verdict

    try:
        if against is not None:
            report = _against(against, manifest, old, new, is_exact=exact)
        elif manifest is not None or exact or allow_missing:
            raise click.UsageError("--manifest, --exact and --allow-missing go with --against")
        elif old is None or new is None:
            raise click.UsageError("name two manifests, OLD and NEW, or a revision with --against")
        else:
            report = _files(old, new)
    except RecursionError:
        _refuse("a contract is nested too deeply to be compared", exits.COMMAND_WAS_WRONG)
    except NoManifestYet as error:
        if not allow_missing:
            _refuse(str(error), exits.NOT_THERE)
        click.echo(f"{against} has no manifest yet: this one is the first, and breaks nobody", err=True)
        raise SystemExit(exits.NOTHING_FOUND) from None
    except NotThere as error:
        _refuse(str(error), exits.NOT_THERE)
    except DiffProblem as error:
        _refuse(str(error), exits.COMMAND_WAS_WRONG)
    least = Verdict(fail_on)
    _write(_render(report, format_, least), output)
    if require_different and report.is_same_document:
        _refuse("baseline and candidate are the same document", exits.COMMAND_WAS_WRONG)
    raise SystemExit(exits.CHECK_SAYS_NO if report.fails_on(least) else exits.NOTHING_FOUND)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Everything read here is needed until the end: looking for garbage among it takes longer than comparing it."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


@_without_collecting()
def _files(old: Path, new: Path) -> Report:
    from flowx_compiler.diff.compare import compare
    from flowx_compiler.diff.reading import read_manifest

    before, after = _read(old, "baseline"), _read(new, "candidate")
    return compare(read_manifest(before, str(old)), read_manifest(after, str(new)))


@_without_collecting()
def _against(revision: str, manifest: Path | None, old: Path | None, new: Path | None, *, is_exact: bool) -> Report:
    from flowx_compiler.diff.compare import compare
    from flowx_compiler.diff.git import read_baseline
    from flowx_compiler.diff.reading import read_manifest

    if old is not None or new is not None:
        raise click.UsageError("--against compares with this work tree: name no files beside it")
    path = _configured() if manifest is None else manifest
    baseline = read_baseline(path, revision, is_exact=is_exact)
    before = read_manifest(baseline.text, baseline.name)
    return compare(before, read_manifest(_read(path, "candidate"), str(path)))


def _configured() -> Path:
    from flowx_compiler.config import find_pyproject, load_config

    pyproject = find_pyproject(Path())
    if pyproject is None:
        return Path("flowx.manifest.json")
    manifests = [config.root / config.manifest for config in load_config(pyproject)]
    if len(manifests) > 1:
        names = ", ".join(str(path.relative_to(pyproject.parent)) for path in manifests)
        raise click.UsageError(f"{pyproject} has several manifests ({names}): say which with --manifest")
    return manifests[0]


def _read(path: Path, side: str) -> bytes:
    from flowx_compiler.diff.errors import NotAManifest, NotThere

    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotThere(f"the {side} {path} does not exist: run `flowx build`, or check the path") from None
    except OSError as error:
        raise NotAManifest(f"the {side} {path} cannot be read: {error.strerror}") from None


def _render(report: Report, format_: str, least: Verdict) -> str:
    match format_:
        case "json":
            from flowx_compiler.diff.report.json import render_json

            return render_json(report, least)
        case "markdown":
            from flowx_compiler.diff.report.markdown import render_markdown

            return render_markdown(report)
        case "github":
            from flowx_compiler.diff.report.github import render_github

            _add_to_step_summary(report)
            return render_github(report)
        case _:
            from flowx_compiler.diff.report.text import render_text

            return render_text(report)


def _add_to_step_summary(report: Report) -> None:
    """Annotations show ten changes of a kind; the summary of the step shows all."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        from flowx_compiler.diff.report.markdown import render_markdown

        with Path(path).open("a", encoding="utf-8", errors="replace") as summary:
            summary.write(render_markdown(report))


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        # As on standard output: half a surrogate pair in somebody's name must not cost the report.
        output.write_text(text, "utf-8", errors="replace")
    except OSError as error:
        _refuse(f"{output} cannot be written: {error.strerror}", exits.COMMAND_WAS_WRONG)
    click.echo(f"wrote {output}", err=True)


def _refuse(sentence: str, code: int) -> NoReturn:
    click.echo(f"flowx: {sentence}", err=True)
    raise SystemExit(code)
