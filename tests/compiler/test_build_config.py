"""`[tool.flowx]`: what it may say, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowx_compiler.config import Config, find_pyproject, load_config
from flowx_compiler.errors import UsageProblem

GOOD = 'sources = ["src"]\nplans = "shop.plans"\n'


def load(folder: Path, table: str) -> tuple[Config, ...]:
    file = folder / "pyproject.toml"
    file.write_text(f"[tool.flowx]\n{table}", "utf-8")
    return load_config(file)


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    (config,) = load(tmp_path, GOOD)
    assert config.application == tmp_path.name
    assert config.manifest == "flowx.manifest.json"
    assert config.plans_folder == Path("shop/plans")


def test_several_applications_share_what_stands_above_them(tmp_path: Path) -> None:
    table = (
        'ignore = ["FLOWX1060"]\n'
        '[[tool.flowx.application]]\nname = "orders"\nsources = ["orders"]\nplans = "orders.plans"\n'
        '[[tool.flowx.application]]\nname = "offers"\nsources = ["offers"]\nplans = "offers.plans"\n'
        'manifest = "offers.json"\n'
    )
    orders, offers = load(tmp_path, table)
    assert (orders.application, orders.plans, orders.ignore) == ("orders", "orders.plans", ("FLOWX1060",))
    assert (offers.application, offers.manifest, offers.ignore) == ("offers", "offers.json", ("FLOWX1060",))


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (GOOD + 'manfest = "a.json"', "did you mean `manifest`?"),
        (GOOD + "zzz = 1", "it knows plans, manifest"),
        ('plans = "shop.plans"', "does not say `sources`"),
        ('sources = ["src"]', "does not say `plans`"),
        ('sources = "src"\nplans = "shop.plans"', "write it in square brackets"),
        ('sources = [1]\nplans = "shop.plans"', "write it in square brackets"),
        ('sources = ["src"]\nplans = "shop-plans"', "not the dotted name of a package"),
        (GOOD + "severity = 1", "write it in curly brackets"),
        (GOOD + "manifest = 1", "write it in quotes"),
    ],
)
def test_a_mistake_is_named_with_what_to_write(tmp_path: Path, table: str, says: str) -> None:
    with pytest.raises(UsageProblem, match=r"pyproject\.toml") as problem:
        load(tmp_path, table)
    assert says in str(problem.value)


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="is not TOML"):
        load(tmp_path, "sources = [")


def test_the_nearest_configuration_above_a_folder_counts(tmp_path: Path) -> None:
    load(tmp_path, GOOD)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'a'\n", "utf-8")
    assert find_pyproject(inner) == tmp_path / "pyproject.toml"
