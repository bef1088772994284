"""`[tool.flowx]` of a `pyproject.toml`, as a frozen value. Unknown keys are errors."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from flowx_compiler.errors import UsageProblem

_TEXT = (
    *("plans", "manifest", "application", "capabilities", "publisher", "authenticator", "key-ring"),
    *("baseline", "python"),
)
_LISTS = ("sources", "select", "ignore")
_TABLES = ("per-file-ignores", "severity")
_KEYS = (*_TEXT, *_LISTS, *_TABLES)


@dataclass(frozen=True, slots=True)
class Config:
    """One application of a project."""

    root: Path
    """The folder of the `pyproject.toml`."""
    sources: tuple[str, ...]
    """Folders and files to compile, relative to the root."""
    plans: str
    """The package that plan modules go to."""
    manifest: str = "flowx.manifest.json"
    application: str = ""
    capabilities: str | None = None
    """`package.module:function` that gives capability instances, for verbs that run flows."""
    key_ring: str | None = None
    """`package.module:function` that gives what sensitive members are sealed with; `None`: they are redacted."""
    publisher: str | None = None
    """`package.module:function` that gives the publisher of a worker; `None`: events stay staged."""
    authenticator: str | None = None
    """`package.module:name` of what tells a worker who sends a request over HTTP; `None`: it knows nobody."""
    select: tuple[str, ...] = ()
    """Only these rules; empty means all."""
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    severity: Mapping[str, str] = field(default_factory=dict)
    baseline: str | None = None
    python: str = "3.11"

    @property
    def plans_folder(self) -> Path:
        """Where the package of plans is, relative to the root: beside the package it is part of, under `src` too."""
        parts = self.plans.split(".")
        is_under_src = len(parts) > 1 and (self.root / "src" / parts[0]).is_dir()
        return Path("src", *parts) if is_under_src else Path(*parts)


def find_pyproject(start: Path) -> Path | None:
    """The nearest `pyproject.toml` with `[tool.flowx]` at or above a folder."""
    for folder in (start.resolve(), *start.resolve().parents):
        candidate = folder / "pyproject.toml"
        if candidate.is_file() and "flowx" in _parse(candidate).get("tool", {}):
            return candidate
    return None


def load_config(pyproject: Path) -> tuple[Config, ...]:
    """Every application that a `pyproject.toml` configures.

    Raises:
        UsageProblem: the file cannot be read, a key is unknown, or a value is of the wrong kind.
    """
    table = _parse(pyproject).get("tool", {}).get("flowx")
    if not isinstance(table, dict):
        raise UsageProblem(f"{pyproject} has no [tool.flowx]: add one with `sources` and `plans`")
    applications = table.get("application")
    if isinstance(applications, list):
        shared = {key: value for key, value in table.items() if key != "application"}
        return tuple(_config(pyproject, {**shared, **_renamed(item)}) for item in applications)
    return (_config(pyproject, table),)


def _renamed(item: Mapping[str, Any]) -> dict[str, Any]:
    """In an `[[application]]` table the application's own name is `name`."""
    return {("application" if key == "name" else key): value for key, value in item.items()}


def _config(pyproject: Path, table: Mapping[str, Any]) -> Config:
    for key, value in table.items():
        _check(pyproject, key, value)
    for key in ("sources", "plans"):
        if not table.get(key):
            example = '["src"]' if key == "sources" else '"myapp.plans"'
            raise UsageProblem(f"[tool.flowx] of {pyproject} does not say `{key}`: add for example {key} = {example}")
    return Config(
        root=pyproject.parent,
        sources=tuple(table["sources"]),
        plans=table["plans"],
        manifest=table.get("manifest", "flowx.manifest.json"),
        application=table.get("application", pyproject.parent.name),
        capabilities=table.get("capabilities"),
        key_ring=table.get("key-ring"),
        publisher=table.get("publisher"),
        authenticator=table.get("authenticator"),
        select=tuple(table.get("select", ())),
        ignore=tuple(table.get("ignore", ())),
        per_file_ignores={name: tuple(ids) for name, ids in table.get("per-file-ignores", {}).items()},
        severity=dict(table.get("severity", {})),
        baseline=table.get("baseline"),
        python=table.get("python", "3.11"),
    )


def _check(pyproject: Path, key: str, value: object) -> None:
    where = f"`{key}` in [tool.flowx] of {pyproject}"
    if key not in _KEYS:
        close = get_close_matches(key, _KEYS, 1)
        hint = f"did you mean `{close[0]}`?" if close else f"it knows {', '.join(_KEYS)}"
        raise UsageProblem(f"{where} is not a setting: {hint}")
    if key in _TEXT and not isinstance(value, str):
        raise UsageProblem(f"{where} is not a text: write it in quotes")
    if key in _LISTS and not _is_list_of_texts(value):
        raise UsageProblem(f"{where} is not a list of texts: write it in square brackets")
    if key in _TABLES and not isinstance(value, dict):
        raise UsageProblem(f"{where} is not a table: write it in curly brackets")
    if key == "per-file-ignores" and not all(_is_list_of_texts(ids) for ids in _values(value)):
        raise UsageProblem(f"{where} does not give each file a list of rules: write {{ 'a.py' = ['FLOWX1012'] }}")
    if key == "severity" and not all(isinstance(word, str) for word in _values(value)):
        raise UsageProblem(f"{where} does not give each rule a text: write {{ FLOWX1012 = 'error' }}")
    if key == "manifest" and (Path(str(value)).is_absolute() or ".." in Path(str(value)).parts):
        raise UsageProblem(f"{where} leads out of the project: write a path below it")
    if key == "manifest" and Path(str(value)).suffix != ".json":
        raise UsageProblem(f"{where} is no name of a JSON file: write for example 'flowx.manifest.json'")
    if key == "plans" and str(value).split(".")[0].startswith("flowx_"):
        raise UsageProblem(f"{where} is a package of flowx itself: write for example 'myapp.plans'")
    if key == "plans" and not all(part.isidentifier() for part in str(value).split(".")):
        raise UsageProblem(f"{where} is not the dotted name of a package: write for example 'myapp.plans'")


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _values(table: object) -> Iterable[object]:
    return table.values() if isinstance(table, dict) else ()


def _parse(pyproject: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(pyproject.read_text("utf-8"))
    except OSError as error:
        raise UsageProblem(f"{pyproject} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{pyproject} is not TOML: {error}") from error
