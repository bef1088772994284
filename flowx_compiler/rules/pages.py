"""The documentation of all rules as files: one page each, and an index.

`python -m flowx_compiler.rules.pages docs/diagnostics` writes them; a test holds those in the tree to the rules.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from flowx_compiler.rules.page import page
from flowx_compiler.rules.registry import RegisteredRule, registry


def pages() -> Mapping[str, str]:
    """Text by file name."""
    files = {f"{entry.rule.id}.md": page(entry) for entry in registry()}
    return {"index.md": _index(), **files}


def write_pages(folder: Path) -> tuple[str, ...]:
    """Write every page, and take away those of rules that are gone; gives what changed."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    present = {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*.md"))}
    for name in present.keys() - wanted.keys():
        (folder / name).unlink()
    changed = {name: text for name, text in wanted.items() if present.get(name) != text}
    for name, text in changed.items():
        (folder / name).write_text(text, "utf-8")
    return tuple(sorted({*changed, *(present.keys() - wanted.keys())}))


def _index() -> str:
    rows = [_row(entry) for entry in registry()]
    head = (
        "# Diagnostics",
        "",
        "What the compiler says about a flow, by the rule that says it. `flowx explain` shows the same pages.",
        "A **safety** rule is always an error: no setting and no baseline silences it, only a suppression at its line",
        "that gives a reason.",
        "",
        "| Rule | Severity | Name | Says |",
        "| --- | --- | --- | --- |",
    )
    return "\n".join((*head, *rows)) + "\n"


def _row(entry: RegisteredRule) -> str:
    rule = entry.rule
    severity = f"{rule.severity.value}, safety" if rule.is_safety else rule.severity.value
    summary = " ".join(entry.page.strip().partition("\n\n")[0].split()).replace("|", "\\|")
    return f"| [{rule.id}]({rule.id}.md) | {severity} | `{rule.name}` | {summary} |"


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
