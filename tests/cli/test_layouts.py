"""Folder layouts and sizes: namespace packages, `src`, several applications, long chains, deep blocks."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import FLOW, Project
from tests.interpreters import LONG_CHAIN


def diagnostics(project: Project, *arguments: str) -> list[dict[str, object]]:
    run = project.flowx("check", "--format", "json", *arguments)
    assert run.returncode in (0, 1), run.stderr
    found: list[dict[str, object]] = json.loads(run.stdout)["diagnostics"]
    return found


def move(project: Project, folder: str, package: str) -> None:
    """Put the flow and its declarations into a package below a folder."""
    for name in ("flows.py", "shop.py"):
        text = (project.root / name).read_text("utf-8").replace("from shop import", f"from {package}.shop import")
        project.write(f"{folder}/{package.replace('.', '/')}/{name}", text)
        (project.root / name).unlink()


def test_d01_a_namespace_package_under_src_is_named_from_src(project: Project) -> None:
    move(project, "src", "acme.orders")
    project.write("pyproject.toml", '[tool.flowx]\nsources = ["src"]\nplans = "plans"\n')
    assert diagnostics(project) == []
    assert project.flowx("build").returncode == 0
    plan = (project.root / "plans/order_place_v1_0_0.py").read_text("utf-8")
    assert "from acme.orders.shop import" in plan


def test_d02_one_module_name_in_two_projects_builds_apart_and_is_reported_together(project: Project) -> None:
    for name in ("one", "two"):
        project.write(f"{name}/pyproject.toml", '[tool.flowx]\nsources = ["app"]\nplans = "plans"\n')
        project.write(f"{name}/app/flows.py", FLOW.replace("from shop", "from app.shop"))
        project.write(f"{name}/app/shop.py", (project.root / "shop.py").read_text("utf-8"))
        assert project.flowx("build", name).returncode == 0
    run = project.flowx("check", "one", "two")
    assert run.returncode == 2
    assert "one/" in run.stderr
    assert "two/" in run.stderr
    assert "are both module" in run.stderr


def test_several_applications_of_one_repository_build_at_once(project: Project) -> None:
    move(project, ".", "first")
    text = (project.root / "first/flows.py").read_text("utf-8").replace("order.place", "order.other")
    project.write("second/flows.py", text)
    project.write(
        "pyproject.toml",
        '[tool.flowx]\n[[tool.flowx.application]]\nname = "first"\nsources = ["first"]\nplans = "first.plans"\n'
        'manifest = "first.json"\n[[tool.flowx.application]]\nname = "second"\nsources = ["second", "first/shop.py"]\n'
        'plans = "second.plans"\nmanifest = "second.json"\n',
    )
    run = project.flowx("build")
    assert run.returncode == 0, run.stdout + run.stderr
    assert (project.root / "first/plans/order_place_v1_0_0.py").exists()
    assert (project.root / "second/plans/order_other_v1_0_0.py").exists()
    assert json.loads((project.root / "second.json").read_text("utf-8"))["flows"][0]["id"] == "order.other"


def chain(calls: int) -> str:
    steps = ".step(open_review)" * calls
    return FLOW.replace("        flow.step(start_job)\n", f"        flow.step(start_job){steps}\n")


@pytest.mark.slow  # a long chain is quadratic in the parser
@pytest.mark.parametrize("calls", [100, 160, LONG_CHAIN])
def test_d08_a_long_chain_compiles(project: Project, calls: int) -> None:
    project.write("flows.py", chain(calls))
    run = project.flowx("build")
    assert run.returncode == 0, run.stderr
    plan = (project.root / "plans/order_place_v1_0_0.py").read_text("utf-8")
    assert plan.count('name="review.open#') == calls - 1


@pytest.mark.parametrize("source", [chain(4000), FLOW + "TOTAL = 1" + " + 1" * 5000 + "\n"], ids=["chain", "terms"])
def test_d08_beyond_what_the_parser_takes_is_one_finding_and_the_rest_is_checked(project: Project, source: str) -> None:
    project.write("flows.py", source)
    project.write(
        "other.py",
        FLOW.replace("order.place", "order.other").replace("            job_status,", "            nudge_job,"),
    )
    assert [(item["file"], item["id"]) for item in diagnostics(project)] == [
        ("flows.py", "FLOWX1282"),
        ("other.py", "FLOWX1044"),
    ]


def test_twenty_nested_blocks_compile(project: Project) -> None:
    block = "b.step(open_review)"
    for _ in range(20):
        block = f"b.when(lambda ctx: ctx.input.express, lambda b: {block})"
    project.write(
        "flows.py", FLOW.replace("flow.step(start_job)\n", f"flow.step(start_job)\n        flow.{block[2:]}\n")
    )
    run = project.flowx("build")
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_module_that_cannot_be_imported_is_refused(project: Project) -> None:
    project.write("my-flows.py", FLOW.replace("order.place", "order.other"))
    found = diagnostics(project)
    assert [(item["file"], item["id"]) for item in found] == [("my-flows.py", "FLOWX1277")]


def test_plans_of_a_package_under_src_go_beside_it_and_run(project: Project) -> None:
    move(project, "src", "acme")
    project.write("src/acme/__init__.py", "")
    project.write("pyproject.toml", '[tool.flowx]\nsources = ["src/acme"]\nplans = "acme.plans"\n')
    assert project.flowx("build").returncode == 0
    assert (project.root / "src/acme/plans/order_place_v1_0_0.py").exists()
    run = project.flowx("run", "order.place", "--input", "{}", "--dsn", "postgresql://127.0.0.1:1/none")
    assert "is not the input of order.place" in run.stderr, run.stderr


def test_the_application_s_own_import_error_is_told_with_its_line(project: Project) -> None:
    assert project.flowx("build").returncode == 0
    project.edit("shop.py", "from enum import Enum\n", "from enum import Enum\nimport nowhere_at_all\n")
    run = project.flowx("run", "order.place", "--input", "{}")
    assert run.returncode == 3
    assert "shop.py:" in run.stderr
    assert "nowhere_at_all" in run.stderr
    assert "defect" not in run.stderr


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ('manifest = "/tmp/x.json"', "manifest"),
        ('manifest = "../x.json"', "manifest"),
        ('plans = "flowx_runtime.p"', "plans"),
    ],
)
def test_settings_that_lead_out_of_the_project_are_refused(project: Project, setting: str, word: str) -> None:
    plans = "" if word == "plans" else 'plans = "plans"\n'
    project.write("pyproject.toml", f'[tool.flowx]\nsources = ["."]\n{plans}{setting}\n')
    run = project.flowx("build")
    assert run.returncode == 2
    assert f"`{word}`" in run.stderr


def test_a_file_where_plans_have_to_go_is_one_sentence(project: Project) -> None:
    project.write("plans", "")
    run = project.flowx("build")
    assert run.returncode == 2
    assert "has to be a folder and is a file" in run.stderr
