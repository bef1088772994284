"""The documentation page of every code, written from the rules: `python -m flowx_compiler.diff.pages docs/diff`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from flowx_compiler.diff.registry import families, rules
from flowx_compiler.diff.rule import Rule, Verdict


def pages() -> dict[str, str]:
    """File name and text of each page, and of the index."""
    made = {f"{rule.code}.md": page(rule, family) for family in families() for rule in family.RULES}
    return {"README.md": index(), **made}


def page(rule: Rule, family: ModuleType) -> str:
    """One code."""
    mirror = _links(rule.mirror) or "none"
    because = f" ({rule.asymmetry})" if rule.asymmetry else ""
    across = f"on another side: {_links(rule.across)}" if rule.across else f"only on this side: {rule.one_sided}"
    about = (family.__doc__ or "").strip()
    return (
        f"# {rule.code}: {rule.title}\n\n"
        f"Class: **{rule.verdict.value}**. Undone, it is reported as: {mirror}{because}.\n"
        f"The same change {across}.\n\n"
        f"## What it detects\n\n{rule.detects}\n\n"
        f"## Why it matters\n\n{rule.matters} Hurt: {rule.hurt}.\n\n"
        f"## What to do\n\n{rule.advice[0].upper()}{rule.advice[1:]}.\n\n"
        f"## About this kind of change\n\n{about}\n"
    )


def _links(numbers: Iterable[str]) -> str:
    return ", ".join(f"[FLOWX-DIFF-{number}](FLOWX-DIFF-{number}.md)" for number in numbers)


def index() -> str:
    """All codes, by class."""
    lines = ["# What `flowx diff` reports", ""]
    lines += ["Written from the rules; edit those and run `python -m flowx_compiler.diff.pages docs/diff`.", ""]
    for verdict in Verdict:
        lines += [f"## {verdict.value.capitalize()}", "", "| Code | Change |", "| --- | --- |"]
        lines += [f"| [{rule.code}]({rule.code}.md) | {rule.title} |" for rule in rules() if rule.verdict is verdict]
        lines.append("")
    return "\n".join(lines)


def main(folder: Path) -> None:
    """Write every page, and remove pages of codes that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for stale in folder.glob("*.md"):
        if stale.name not in made:
            stale.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
