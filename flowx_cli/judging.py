"""How a project's findings are judged: its settings, those of the command line, and its baseline.

The rules are imported when there is something to judge: that takes longer than a build that changes nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flowx_compiler.config import find_pyproject, load_config
from flowx_compiler.errors import UsageProblem

if TYPE_CHECKING:
    from flowx_compiler.config import Config
    from flowx_compiler.model import Program
    from flowx_compiler.rules.selection import Selection
    from flowx_compiler.verdict import KnownFinding, Verdict


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says about rules."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    @classmethod
    def of(cls, select: tuple[str, ...], ignore: tuple[str, ...]) -> Asked:
        """From options that were given several times, or with commas, or both."""
        return cls(_split(select), _split(ignore))


NOTHING_ASKED = Asked()


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge that has read all it needs."""

    selected: Selection
    known: tuple[KnownFinding, ...] = ()
    gone: frozenset[str] = frozenset()

    def __call__(self, program: Program) -> Verdict:
        """What is wrong with a program, as the project sees it."""
        from flowx_compiler.baseline import apply_baseline
        from flowx_compiler.rules.run import judge
        from flowx_compiler.rules.unsound import with_reasons

        verdict = judge(program, self.selected)
        if self.known:
            verdict = apply_baseline(program, verdict, self.known, self.selected, gone=self.gone)
        return with_reasons(program, verdict)


def judgement(
    config: Config | None, asked: Asked = NOTHING_ASKED, *, base: Path | None = None, with_baseline: bool = True
) -> Judgement:
    """Read what judging needs.

    Args:
        config: the project's settings, where it has some.
        asked: the command line's.
        base: what files are named from, where that is not the project's root.
        with_baseline: whether the project's baseline counts.

    Raises:
        UsageProblem: a setting or the baseline is wrong.
    """
    from flowx_compiler.rules.selection import selection

    if config is None:
        return Judgement(selection(select=asked.select, ignore=asked.ignore))
    root = config.root.resolve()
    prefix = "" if base is None else Path(os.path.relpath(base.resolve(), root)).as_posix()
    selected = selection(config, select=asked.select, ignore=asked.ignore, prefix=prefix)
    if not with_baseline or config.baseline is None:
        return Judgement(selected)
    known = _read_baseline(root, config.baseline)
    return Judgement(selected, known, frozenset(entry.file for entry in known if not (root / entry.file).exists()))


def settings_at(start: Path) -> Config | None:
    """The settings of the project that holds a file or folder; of several applications, of the one that holds it.

    Raises:
        UsageProblem: there are settings, and they are wrong.
    """
    pyproject = find_pyproject(start)
    if pyproject is None:
        return None
    configs = load_config(pyproject)
    place = start.resolve()
    return next((config for config in configs if _holds(config, place)), configs[0] if configs else None)


def _holds(config: Config, place: Path) -> bool:
    return any(place.is_relative_to((config.root / source).resolve()) for source in config.sources)


def _read_baseline(root: Path, name: str) -> tuple[KnownFinding, ...]:
    from flowx_compiler.baseline import parse_baseline

    way_out = f"write it with `flowx check --write-baseline {name}`"
    try:
        text = (root / name).read_text("utf-8")
    except OSError as error:
        raise UsageProblem(f"the baseline {name} cannot be read ({error.strerror}): {way_out}") from error
    except UnicodeDecodeError as error:
        raise UsageProblem(f"the baseline {name} is not UTF-8: {way_out}") from error
    return parse_baseline(text, name)


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(id.strip() for value in values for id in value.split(",") if id.strip())
