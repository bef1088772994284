"""The pages in `docs/diagnostics` are those that the rules' files make."""

from __future__ import annotations

from pathlib import Path

from flowx_compiler.rules.pages import pages, write_pages
from flowx_compiler.rules.registry import registry

FOLDER = Path(__file__).parents[2] / "docs" / "diagnostics"
HOW = "run `python -m flowx_compiler.rules.pages docs/diagnostics`"


def test_the_pages_on_disk_are_those_of_the_rules() -> None:
    on_disk = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*")}
    wanted = pages()
    assert sorted(on_disk) == sorted(wanted), HOW
    assert [name for name, text in wanted.items() if on_disk[name] != text] == [], HOW


def test_the_index_links_every_rule_once() -> None:
    index = pages()["index.md"]
    for entry in registry():
        assert index.count(f"({entry.rule.id}.md)") == 1


def test_writing_gives_what_changed_and_removes_pages_of_rules_that_are_gone(tmp_path: Path) -> None:
    assert write_pages(tmp_path) == tuple(sorted(pages()))
    assert write_pages(tmp_path) == ()
    (tmp_path / "FLOWX1012.md").write_text("edited", "utf-8")
    (tmp_path / "FLOWX1999.md").write_text("a rule that was", "utf-8")
    assert write_pages(tmp_path) == ("FLOWX1012.md", "FLOWX1999.md")
    assert not (tmp_path / "FLOWX1999.md").exists()
