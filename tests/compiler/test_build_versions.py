"""What a build writes: plans by version, a catalogue of them, nothing under an error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from flowx_cli.building import build_project
from flowx_compiler.build import Build, compile_sources
from flowx_compiler.config import Config
from flowx_compiler.link.sources import SourceFile
from flowx_compiler.rules.examples import shop
from flowx_runtime.plan import Catalog
from tests.compiler.small_plans import source

CONFIG = Config(root=Path(), sources=("src",), plans="shop_plans", application="shop")
BODY = "flow.step(open_review)"
FIRST = "shop_plans/small_flow_v1_0_0.py"


def at(version: str, body: str = BODY, id: str = "small.flow") -> str:
    return source(body).replace('"small.flow", version="1.0.0"', f'"{id}", version="{version}"')


def build(*flows: str, existing: Mapping[str, str] | None = None) -> Build:
    named = {"shop": shop(), **{f"flows_{number}": text for number, text in enumerate(flows)}}
    files = [SourceFile(name, f"{name}.py", text.encode()) for name, text in named.items()]
    return compile_sources(files, CONFIG, existing or {})


def on_disk(built: Build) -> dict[str, str]:
    return {Path(path).stem: text for path, text in built.files.items() if "_v" in path}


def listed(built: Build) -> list[tuple[str, str, str, bool]]:
    namespace: dict[str, Any] = {}
    exec(built.files["shop_plans/__init__.py"], namespace)
    catalog = namespace["CATALOG"]
    assert isinstance(catalog, Catalog)
    return [(entry.flow_id, entry.version, entry.module, entry.retired) for entry in catalog]


def test_a_build_gives_a_module_per_flow_a_catalogue_and_a_manifest() -> None:
    built = build(at("1.0.0"))
    assert list(built.files) == ["flowx.manifest.json", "shop_plans/__init__.py", FIRST]
    assert listed(built) == [("small.flow", "1.0.0", "shop_plans.small_flow_v1_0_0", False)]


def test_an_older_version_stays_as_it_was_but_for_the_note_that_it_is_retired() -> None:
    before = build(at("1.0.0"))
    after = build(at("1.1.0"), existing=on_disk(before))
    added = set(after.files[FIRST].splitlines()) - set(before.files[FIRST].splitlines())
    assert added == {"Retired: a newer version has taken over; instances that started under this one finish under it."}
    compile(after.files[FIRST], FIRST, "exec")
    assert listed(after) == [
        ("small.flow", "1.1.0", "shop_plans.small_flow_v1_1_0", False),
        ("small.flow", "1.0.0", "shop_plans.small_flow_v1_0_0", True),
    ]


def test_retiring_is_done_once_and_a_version_that_returns_is_current_again() -> None:
    before = build(at("1.0.0"))
    after = build(at("1.1.0"), existing=on_disk(before))
    assert build(at("1.1.0"), existing=on_disk(after)).files == after.files
    back = build(at("1.0.0"), existing=on_disk(after))
    assert back.files[FIRST] == before.files[FIRST]
    assert [(version, retired) for _, version, _, retired in listed(back)] == [("1.0.0", False), ("1.1.0", True)]


def test_a_flow_that_is_gone_from_the_source_leaves_its_plan_behind() -> None:
    before = build(at("1.0.0"), at("1.0.0", id="other.flow"))
    after = build(at("1.0.0"), existing=on_disk(before))
    assert ("other.flow", "1.0.0", "shop_plans.other_flow_v1_0_0", True) in listed(after)


def test_a_file_that_is_no_plan_is_left_alone() -> None:
    built = build(at("1.0.0"), existing={"notes_v1": '"""Mine."""\n'})
    assert "shop_plans/notes_v1.py" not in built.files
    assert len(listed(built)) == 1


def test_of_several_current_versions_the_newest_is_the_one_that_starts() -> None:
    versions = [version for _, version, _, _ in listed(build(at("9.0.0"), at("10.0.0"), at("10.0.0-rc.1")))]
    assert versions == ["10.0.0", "10.0.0-rc.1", "9.0.0"]


def test_ids_that_differ_only_in_their_separators_have_modules_of_their_own() -> None:
    both = build(at("1.0.0", id="a.b_c"), at("1.0.0", id="a_b.c"))
    modules = {flow: module for flow, _, module, _ in listed(both)}
    assert modules == {"a.b_c": "shop_plans.a_b_c_v1_0_0", "a_b.c": "shop_plans.a_b_c_v1_0_0_2"}
    alone = build(at("1.0.0", id="a_b.c"), existing=on_disk(both))
    assert {flow: (module, retired) for flow, _, module, retired in listed(alone)} == {
        "a.b_c": ("shop_plans.a_b_c_v1_0_0", True),
        "a_b.c": ("shop_plans.a_b_c_v1_0_0_2", False),
    }


def test_an_error_anywhere_stops_everything() -> None:
    built = build(at("1.0.0"), at("1.0.0", "flow.step(no_such_capability)", id="other.flow"))
    assert built.has_errors
    assert built.files == {}


def test_the_order_of_files_does_not_show() -> None:
    named = {"shop": shop(), "flows_0": at("1.0.0"), "flows_1": at("1.0.0", id="other.flow")}
    files = [SourceFile(name, f"{name}.py", text.encode()) for name, text in named.items()]
    assert compile_sources(files, CONFIG, {}).files == compile_sources(files[::-1], CONFIG, {}).files


def test_a_plan_names_no_line_path_or_date_and_a_comment_does_not_change_it() -> None:
    plain = build(at("1.0.0")).files[FIRST]
    assert build("# a comment\n\n\n" + at("1.0.0")).files[FIRST] == plain
    assert ".py" not in plain


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A project on disk, importable."""
    (tmp_path / "pyproject.toml").write_text('[tool.flowx]\nsources = ["."]\nplans = "disk_plans"\n', "utf-8")
    (tmp_path / "disk_shop.py").write_text(shop(), "utf-8")
    (tmp_path / "disk_flows.py").write_text(at("1.0.0").replace("from shop import", "from disk_shop import"), "utf-8")
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("disk_")]:
        del sys.modules[name]


def test_a_project_on_disk_is_built_once_and_its_plan_runs_from_the_catalogue(project: Path) -> None:
    first = build_project(project)
    assert first.written == ("disk_plans/__init__.py", "disk_plans/small_flow_v1_0_0.py", "flowx.manifest.json")
    assert build_project(project).written == ()
    assert not [file for file in (project / "disk_plans").iterdir() if file.name.startswith(".")]
    catalog = __import__("disk_plans").CATALOG
    assert "disk_flows" not in sys.modules
    assert [node.name for node in catalog.plan("small.flow").nodes] == ["review.open"]


def test_an_error_leaves_what_is_on_disk_as_it_is(project: Path) -> None:
    build_project(project)
    before = {file: file.read_bytes() for file in project.rglob("*.py") if file.parent.name == "disk_plans"}
    assert before
    broken = project / "disk_flows.py"
    broken.write_text(broken.read_text("utf-8").replace("flow.step(open_review)", "flow.step(gone)"), "utf-8")
    assert build_project(project).written == ()
    assert {file: file.read_bytes() for file in before} == before
