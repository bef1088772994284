"""A manifest that is not what its schema says is never written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flowx_cli.building import build_project
from flowx_compiler.emit import manifest_schema
from flowx_compiler.emit.manifest_schema import check_manifest
from flowx_compiler.errors import UsageProblem
from flowx_compiler.rules.examples import shop
from tests.compiler.small_plans import source

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/flowx.manifest.json"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[tool.flowx]\nsources = ["."]\nplans = "plans"\n', "utf-8")
    (tmp_path / "shop.py").write_text(shop(), "utf-8")
    (tmp_path / "flows.py").write_text(source("flow.step(open_review)\nflow.step(start_job)"), "utf-8")
    return tmp_path


def refuse_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_schema, "_schema", lambda: {"properties": {"flows": {"maxItems": 0}}})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_what_is_written_is_accepted(path: Path) -> None:
    check_manifest(path.read_text("utf-8"))


@pytest.mark.parametrize(
    ("edit", "place"),
    [({"flows": None}, "flows"), ({"surprise": 1}, "its top"), ({"contracts": {"a.B": 3}}, "contracts/a.B")],
)
def test_what_is_not_is_refused_as_a_defect_of_flowx(edit: dict[str, Any], place: str) -> None:
    document = json.loads(EXAMPLES[0].read_text("utf-8")) | edit

    with pytest.raises(UsageProblem, match="a defect of flowx") as refused:
        check_manifest(json.dumps(document))
    assert f" at {place}: " in str(refused.value)


def test_a_build_writes_nothing_then(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_everything(monkeypatch)

    with pytest.raises(UsageProblem, match="a defect of flowx"):
        build_project(project)
    assert not (project / "flowx.manifest.json").exists()
    assert not (project / "plans").exists()


def test_a_manifest_that_did_not_change_is_not_looked_at_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "flowx.manifest.json" in build_project(project).written
    refuse_everything(monkeypatch)

    assert build_project(project).written == ()
