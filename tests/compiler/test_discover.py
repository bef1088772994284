"""Which files a command works on, and what their modules are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowx_compiler.discover import discover
from flowx_compiler.errors import UsageProblem


def tree(root: Path, *files: str, **texts: str) -> Path:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts.get(path.stem, ""), "utf-8")
    return root


def found(root: Path, *paths: str, roots: tuple[str, ...] = ()) -> dict[str, str]:
    files = discover([root / path for path in paths], base=root, roots=[root / name for name in roots])
    return {file.module: file.file for file in files}


def test_modules_are_named_from_the_folder_with_the_project_s_configuration(tmp_path: Path) -> None:
    tree(tmp_path, "pyproject.toml", "app/__init__.py", "app/orders/pay.py", "tool.py")

    assert found(tmp_path, "app") == {"app": "app/__init__.py", "app.orders.pay": "app/orders/pay.py"}
    assert found(tmp_path, ".").keys() == {"app", "app.orders.pay", "tool"}


def test_a_src_folder_is_an_import_root_with_or_without_a_package_file(tmp_path: Path) -> None:
    tree(tmp_path, "pyproject.toml", "src/app/pay.py", "tests/test_pay.py")

    assert found(tmp_path, ".") == {"app.pay": "src/app/pay.py", "tests.test_pay": "tests/test_pay.py"}


def test_the_nearest_named_root_wins(tmp_path: Path) -> None:
    tree(tmp_path, "pyproject.toml", "services/pay/app/pay.py")

    assert found(tmp_path, "services", roots=(".", "services/pay")) == {"app.pay": "services/pay/app/pay.py"}


def test_hidden_folders_environments_caches_and_links_are_left_alone(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "app/pay.py",
        "app/notes.txt",
        ".hidden/a.py",
        ".venv/b.py",
        "env/pyvenv.cfg",
        "env/lib/c.py",
        "app/__pycache__/d.py",
        "node_modules/e.py",
    )
    (tmp_path / "app" / "again").symlink_to(tmp_path, target_is_directory=True)

    assert found(tmp_path, ".") == {"app.pay": "app/pay.py"}


def test_one_file_brings_what_it_imports_from_its_root_and_nothing_else(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "flows/pay.py",
        "shop/__init__.py",
        "shop/models.py",
        "shop/unused.py",
        "other.py",
        "pyproject.toml",
        pay="from flowx_runtime import flow\nfrom shop import models\nimport notinstalled, os.path\n",
        models="from . import unit\n",
    )

    assert found(tmp_path, "flows/pay.py").keys() == {"flows.pay", "shop", "shop.models"}
    assert found(tmp_path, "flows").keys() == {"flows.pay", "shop", "shop.models"}


def test_imports_are_followed_through_files_that_import_each_other(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "pay.py",
        "one.py",
        "two.py",
        pay="import flowx_runtime, one\n",
        one="import two\n",
        two="import one\n",
    )

    assert found(tmp_path, "pay.py").keys() == {"pay", "one", "two"}


@pytest.mark.parametrize("path", ["missing", "missing.py", "notes.txt"])
def test_a_path_that_holds_no_python_is_refused_by_name(path: str, tmp_path: Path) -> None:
    tree(tmp_path, "notes.txt")

    with pytest.raises(UsageProblem, match=path):
        found(tmp_path, path)


def test_two_files_of_one_name_are_refused_by_name(tmp_path: Path) -> None:
    tree(tmp_path, "one/app/pay.py", "one/pyproject.toml", "two/app/pay.py", "two/pyproject.toml")

    with pytest.raises(UsageProblem, match=r"one/app/pay\.py and two/app/pay\.py are both module 'app\.pay'"):
        found(tmp_path, ".")


def test_the_order_is_that_of_the_names_whatever_the_order_of_the_paths(tmp_path: Path) -> None:
    tree(tmp_path, "b.py", "a.py", "pyproject.toml")

    assert list(found(tmp_path, "b.py", "a.py")) == list(found(tmp_path, "a.py", "b.py")) == ["a", "b"]
