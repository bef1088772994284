"""Builds a project on disk: reads its files, compiles them, writes what changed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flowx_cli.writing import bytes_of, is_as, refuse_foreign, write_text
from flowx_compiler.cache import Cache
from flowx_compiler.collecting import without_collecting
from flowx_compiler.config import find_pyproject, load_config
from flowx_compiler.discover import discover
from flowx_compiler.errors import UsageProblem
from flowx_compiler.outcome import Outcome
from flowx_compiler.released import NotAManifest, Released, read_released

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowx_cli.judging import Asked
    from flowx_compiler.config import Config
    from flowx_compiler.report.report import Report
    from flowx_compiler.source_file import SourceFile


@dataclass(frozen=True, slots=True)
class BuiltProject:
    """What building one application did."""

    config: Config
    report: Report
    written: tuple[str, ...]
    """Files whose bytes changed, relative to the root."""
    stale: tuple[str, ...]
    """Files that differ from what this source builds; only in a check, which writes nothing."""
    restated: tuple[tuple[str, str], ...] = ()
    """(flow id, version) whose plan on disk was another one; nothing says that it was ever released."""
    unread: str = ""
    """Why the build could not be held to what is released, if it could not."""


def configured(start: Path) -> tuple[Config, ...]:
    """The applications of the project at or above a folder.

    Raises:
        UsageProblem: there is no configuration.
    """
    pyproject = find_pyproject(start)
    if pyproject is None:
        raise UsageProblem(
            f"there is no [tool.flowx] in a pyproject.toml at or above {start.resolve()}: "
            'add one with for example sources = ["myapp"] and plans = "myapp.plans"'
        )
    return load_config(pyproject)


def build_project(start: Path, *, check: bool = False) -> BuiltProject:
    """Build the one application of a project."""
    configs = configured(start)
    if len(configs) != 1:
        raise UsageProblem("this project has several applications: name one")
    return build_application(configs[0], check=check)


def build_application(
    config: Config, *, check: bool = False, asked: Asked | None = None, cache: Cache | None = None
) -> BuiltProject:
    """Compile one application, and write what changed unless something found is an error or this is a check.

    Args:
        config: the application.
        check: write nothing but the cache.
        asked: what the command line says about rules.
        cache: what earlier builds learnt; it decides how long this takes, and nothing else.
    """
    plans = config.root / config.plans_folder
    files = read_sources(config)
    existing = _existing(plans)
    outcome = _outcome(config, files, existing, asked, cache)
    built = outcome.files.get(config.manifest)
    released, unread = _released(config)
    now = read_released(built)
    if unread and check:
        raise UsageProblem(unread)
    if released.changed(now) or released.labels_gone(now):
        # Seldom, and therefore not part of what is cached: the next commit would make every cached outcome another one.
        outcome = _compile(config, files, existing, asked, cache, released)
    different = tuple(path for path, text in outcome.files.items() if not is_as(config.root / path, text))
    if check:
        return BuiltProject(config, _with_stale(config, outcome, different), (), different)
    restated: tuple[tuple[str, str], ...] = ()
    if different:
        restated = _restated(config, now)
        refuse_foreign(config, different)
    if config.manifest in different:
        from flowx_compiler.emit.manifest_schema import check_manifest

        check_manifest(outcome.files[config.manifest])
    for path in different:
        write_text(config.root / path, outcome.files[path])
    return BuiltProject(config, outcome.report, different, (), restated, unread)


class GitUnreadable(ValueError):
    """There is a repository, and git does not show it to this user."""


def _released(config: Config) -> tuple[Released, str]:
    """What HEAD says is released; and a sentence where it has a manifest that says nothing."""
    try:
        return read_released(_committed(config)).without_drafts(), ""
    except GitUnreadable as unread:
        return Released(), f"{unread}; until then nothing can be held to what is released"
    except NotAManifest:
        return Released(), (
            f"{config.manifest} cannot be read as git's HEAD has it, so that nothing can be held to what is released: "
            "run `flowx build`, look through what it writes, and commit that"
        )


def _restated(config: Config, now: Released) -> tuple[tuple[str, str], ...]:
    try:
        return read_released(bytes_of(config.root / config.manifest)).changed(now)
    except NotAManifest:
        return ()


def _committed(config: Config) -> bytes | None:
    """The manifest as git's HEAD has it; nothing where there is no git, no commit, or no manifest in it."""
    root = config.root.resolve()
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return None
    import subprocess

    from flowx_compiler.diff.git import distrusted

    asked = ("git", "-C", str(root), "cat-file", "blob", f"HEAD:./{config.manifest}")
    try:
        found = subprocess.run(asked, capture_output=True, check=False, env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"})
    except OSError:
        return None
    if found.returncode and b"safe.directory" in found.stderr:
        raise GitUnreadable(distrusted(root))
    return None if found.returncode else found.stdout


def _with_stale(config: Config, outcome: Outcome, different: Sequence[str]) -> Report:
    """The report, with a finding for each generated file that is not what this source builds."""
    if not different:
        return outcome.report
    from flowx_compiler.report.fingerprint import fingerprints
    from flowx_compiler.rules.flowx1302_generated_file_is_stale import stale

    found = [
        stale(path, is_missing=not (config.root / path).exists(), made_from=outcome.made_from.get(path))
        for path in different
    ]
    report = outcome.report
    return replace(
        report,
        findings=tuple(sorted((*report.findings, *found), key=lambda finding: finding.order)),
        fingerprints={**report.fingerprints, **fingerprints((), found)},
    )


def read_sources(config: Config) -> list[SourceFile]:
    """The files of an application, without the plans that building it writes."""
    plans = f"{config.plans_folder.as_posix()}/"
    found = discover([config.root / source for source in config.sources], base=config.root, roots=_roots(config))
    return [file for file in found if not file.file.startswith(plans)]


def _outcome(
    config: Config, files: Sequence[SourceFile], existing: dict[str, str], asked: Asked | None, cache: Cache | None
) -> Outcome:
    if cache is None:
        return _compile(config, files, existing, asked, None)
    slot = f"build {config.application} {config.plans}"
    key = cache.key(("build", replace(config, root=Path()), asked, _baseline(config)), files)
    found = cache.outcome(slot, key)
    if found is not None and _still_holds(found, config, existing):
        return found
    outcome = _compile(config, files, existing, asked, cache)
    if not _is_about_plans(outcome, config):
        cache.keep(slot, key, outcome)
    return outcome


def _is_about_plans(outcome: Outcome, config: Config) -> bool:
    """Whether something is wrong with plans on disk, which are no part of what outcomes are kept under."""
    plans = f"{config.plans_folder.as_posix()}/"
    return any(finding.place.file.startswith(plans) for finding in outcome.report.findings)


def _compile(
    config: Config,
    files: Sequence[SourceFile],
    existing: dict[str, str],
    asked: Asked | None,
    cache: Cache | None,
    released: Released | None = None,
) -> Outcome:
    # Imported only where something is compiled: the rules alone take longer to import than an unchanged build takes.
    from flowx_cli.judging import NOTHING_ASKED, judgement
    from flowx_compiler.build import compile_sources
    from flowx_compiler.report.report import report

    with without_collecting():
        judge = judgement(config, asked or NOTHING_ASKED)
        build = compile_sources(files, config, existing, judge, cache, released)
    return Outcome(report(build.program, build.verdict), build.files, build.made_from)


def _still_holds(outcome: Outcome, config: Config, existing: dict[str, str]) -> bool:
    """Whether plans on disk, which are an input too, would give the same again.

    They do where they are what this outcome wrote: a plan on disk only keeps its module's name, and a retired plan
    stays as it is. Where nothing is compiled, what is there does not matter.
    """
    plans = config.plans_folder.as_posix()
    written = {Path(path).stem: text for path, text in outcome.files.items() if path.startswith(f"{plans}/")}
    written.pop("__init__", None)
    return not outcome.files or written == existing


def _baseline(config: Config) -> object:
    """What the baseline says, and which of the files it names exist."""
    content = bytes_of(config.root / config.baseline) if config.baseline is not None else None
    if content is None:
        return None
    try:
        named = {entry["file"] for entry in json.loads(content)["findings"]}
    except (ValueError, KeyError, TypeError):
        return content
    return content, sorted(str(name) for name in named if not (config.root / str(name)).exists())


def _roots(config: Config) -> tuple[Path, ...]:
    """Import roots: the folder that the package of plans is imported from, and `src` folders."""
    source = config.root / "src"
    return (config.root, source) if source.is_dir() else (config.root,)


def _existing(plans: Path) -> dict[str, str]:
    return {file.stem: _text_of(file) for file in sorted(plans.glob("*_v*.py"))} if plans.is_dir() else {}


def _text_of(plan: Path) -> str:
    try:
        return plan.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageProblem(f"{plan} is no plan, it is not even text: move it away, or restore it from git") from error
