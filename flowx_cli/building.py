"""Builds a project on disk: reads its files, compiles them, writes what changed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from flowx_cli.judging import NOTHING_ASKED, Asked, judgement
from flowx_compiler.build import Build, compile_sources
from flowx_compiler.config import find_pyproject, load_config
from flowx_compiler.discover import discover
from flowx_compiler.errors import UsageProblem

if TYPE_CHECKING:
    from flowx_compiler.config import Config


@dataclass(frozen=True, slots=True)
class BuiltProject:
    """What building one application did."""

    config: Config
    build: Build
    written: tuple[str, ...]
    """Files whose bytes changed, relative to the root."""
    stale: tuple[str, ...]
    """Files that differ from what this source builds; only in a check, which writes nothing."""


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


def build_application(config: Config, *, check: bool = False, asked: Asked = NOTHING_ASKED) -> BuiltProject:
    """Compile one application, and write what changed unless something found is an error or this is a check."""
    plans = config.root / config.plans_folder
    roots = _roots(config)
    files = [
        file
        for file in discover([config.root / source for source in config.sources], base=config.root, roots=roots)
        if not (config.root / file.file).is_relative_to(plans)
    ]
    build = compile_sources(files, config, _existing(plans), judgement(config, asked))
    changed = tuple(path for path, text in build.files.items() if _bytes_of(config.root / path) != text.encode())
    if check:
        return BuiltProject(config, build, (), changed)
    for path in changed:
        _write(config.root / path, build.files[path])
    return BuiltProject(config, build, changed, ())


def _roots(config: Config) -> tuple[Path, ...]:
    """Import roots: the folder that the package of plans is imported from, and `src` folders."""
    source = config.root / "src"
    return (config.root, source) if source.is_dir() else (config.root,)


def _existing(plans: Path) -> dict[str, str]:
    return {file.stem: file.read_text("utf-8") for file in sorted(plans.glob("*_v*.py"))} if plans.is_dir() else {}


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, text: str) -> None:
    """Write through a temporary file, so that a build that is killed leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}.", delete=False) as temporary:
        temporary.write(text.encode())
    mode = path.stat().st_mode if path.exists() else 0o666 & ~_umask()
    Path(temporary.name).chmod(mode)
    Path(temporary.name).replace(path)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
