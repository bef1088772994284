"""With a cache and without one, a build gives the same; what is in the cache's folder cannot harm it."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flowx_cli.building import BuiltProject, build_application, configured
from flowx_compiler.cache import FOLDER, Cache
from flowx_compiler.cache_file import dump, load, read_cache_file, write_cache_file
from flowx_compiler.rules.examples import shop
from flowx_compiler.syntax import Constant, Span
from tests.interpreters import LONG_CHAIN

ROOT = Path(__file__).parents[2]
PYPROJECT = '[tool.flowx]\nsources = ["app"]\nplans = "plans"\n'
FLOW = """\
from flowx_runtime import Flow, FlowBuilder, Profile, flow
from app.shop import OrderResult, PlaceOrder, release_inventory, reserve_inventory, validate_order


@flow("order.{name}", version="1.0.0", profile=Profile.{profile}, deadline="PT1M")
class {name}(Flow[PlaceOrder, OrderResult]):
    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:
        flow.step(validate_order)
        flow.step(reserve_inventory).compensate_with(release_inventory)
        flow.returns(lambda ctx: OrderResult(order_id=ctx.input.order_id))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "pyproject.toml", PYPROJECT)
    write(tmp_path, "app/shop.py", shop())
    write(tmp_path, "app/other.py", "NUMBER = 1\n")
    write(tmp_path, "app/one.py", FLOW.format(name="one", profile="DURABLE"))
    write(tmp_path, "app/two.py", FLOW.format(name="two", profile="DURABLE"))
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, "utf-8")


def build(root: Path) -> tuple[BuiltProject, list[str]]:
    """Build with the cache; gives what had to be parsed, too."""
    cache = Cache(root)
    return build_application(configured(root)[0], cache=cache), sorted(cache.parsed)


def seen(root: Path, built: BuiltProject) -> tuple[object, ...]:
    """Everything that a person can see of a build."""
    files = {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file() and FOLDER not in path.parts}
    return built.report.findings, built.report.suppressed, built.report.flow_count, built.report.fingerprints, files


def assert_same_without_a_cache(root: Path, built: BuiltProject) -> None:
    with_cache = seen(root, built)
    assert seen(root, build_application(configured(root)[0])) == with_cache


def break_configuration(root: Path) -> None:
    write(root, "pyproject.toml", PYPROJECT + 'ignore = ["FLOWX1012"]\n[tool.flowx.severity]\nFLOWX1060 = "error"\n')


def change_plan(plan: Path) -> None:
    plan.write_text(f"{plan.read_text('utf-8')}\nCHANGED = 1\n", "utf-8")


EDITS: dict[str, Callable[[Path], None]] = {
    "a flow": lambda root: write(root, "app/one.py", FLOW.format(name="one", profile="EPHEMERAL")),
    "a contract that flows use": lambda root: write(root, "app/shop.py", shop().replace("order_id", "order_key")),
    "a file without flows": lambda root: write(root, "app/other.py", "NUMBER = 2\n"),
    "a broken file": lambda root: write(root, "app/two.py", "import flowx_runtime\ndef (\n"),
    "a new package": lambda root: write(root, "app/__init__.py", "from .shop import *\n"),
    "a new flow": lambda root: write(root, "app/three.py", FLOW.format(name="three", profile="DURABLE")),
    "a file less": lambda root: (root / "app/two.py").unlink(),
    "a plan less": lambda root: next((root / "plans").glob("*_v*.py")).unlink(),
    "a plan changed by hand": lambda root: change_plan(next((root / "plans").glob("*_v*.py"))),
    "the configuration": break_configuration,
}


@pytest.mark.parametrize("edit", EDITS)
def test_after_an_edit_a_build_with_a_cache_is_a_build_without_one(root: Path, edit: str) -> None:
    build(root)
    build(root)

    EDITS[edit](root)

    assert_same_without_a_cache(root, build(root)[0])
    assert_same_without_a_cache(root, build(root)[0])


def test_c01_a_changed_configuration_counts_on_the_next_run(root: Path) -> None:
    write(root, "app/one.py", FLOW.format(name="one", profile="EPHEMERAL"))
    assert [finding.id for finding in build(root)[0].report.findings] == ["FLOWX1012"]

    break_configuration(root)

    assert build(root)[0].report.findings == ()


def test_c02_a_new_package_file_changes_what_modules_mean(root: Path) -> None:
    write(root, "app/one.py", FLOW.format(name="one", profile="DURABLE").replace("from app.shop", "from app"))
    before = build(root)[0]
    assert before.report.findings

    write(root, "app/__init__.py", "from .shop import *\n")

    built, parsed = build(root)
    assert built.report.findings == ()
    assert "app.one" not in parsed


def test_c03_a_finding_about_another_file_stays_until_it_is_mended(root: Path) -> None:
    build(root)
    broken = shop().replace("async def release_inventory", "async def release_stock")
    write(root, "app/shop.py", broken)

    first, parsed = build(root)
    second, parsed_again = build(root)

    assert first.report.findings
    assert {finding.place.file for finding in first.report.findings} == {"app/one.py", "app/two.py"}
    assert first.report.findings == second.report.findings
    assert parsed == ["app.shop"]
    assert parsed_again == []
    write(root, "app/shop.py", shop())
    assert build(root)[0].report.findings == ()


def test_c05_two_builds_at_once_and_a_killed_one_leave_a_cache_that_works(root: Path) -> None:
    command = [sys.executable, "-m", "flowx_cli", "build"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen(command, cwd=root, env=environment, stderr=subprocess.PIPE) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    killed = subprocess.Popen(
        [sys.executable, "-c", _WRITE_FOREVER, str(root)], env=environment, stdout=subprocess.PIPE
    )
    assert killed.stdout is not None
    killed.stdout.readline()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    for process in running:
        assert process.stderr is not None
        process.stderr.close()
    killed.stdout.close()

    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert done.stderr == ""
    assert_same_without_a_cache(root, build(root)[0])


_WRITE_FOREVER = """
import sys
from pathlib import Path
from flowx_compiler.cache import FOLDER, Cache
from flowx_compiler.cache_file import write_cache_file
from flowx_compiler.identity import compiler_identity
folder, identity = Path(sys.argv[1]) / FOLDER, compiler_identity()
files = [file for file in folder.iterdir() if file.suffix == "" and not file.name.startswith(".")]
print("writing", flush=True)
while True:
    for file in files:
        write_cache_file(file, identity, b"not what a build writes" * 100_000)
"""


@pytest.mark.parametrize("damage", [b"", b"flowx cache 1\n", b"\x80\x05K*.", None])
def test_a_damaged_cache_is_ignored_and_replaced(root: Path, damage: bytes | None) -> None:
    expected = seen(root, build(root)[0])
    for file in cache_files(root):
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if damage is None else damage)

    built, parsed = build(root)

    assert seen(root, built) == expected
    assert parsed == ["app.one", "app.shop", "app.two"]
    assert build(root)[1] == []


def test_a_cache_of_another_compiler_is_ignored(root: Path) -> None:
    build(root)
    for file in cache_files(root):
        write_cache_file(file, b"another compiler", b"whole, and of another compiler")

    assert build(root)[1] == ["app.one", "app.shop", "app.two"]


def test_a_folder_that_cannot_be_written_costs_only_time(root: Path) -> None:
    write(root, FOLDER, "a file where the folder should be")

    built, _ = build(root)

    assert built.report.findings == ()
    assert_same_without_a_cache(root, built)


def test_the_longest_chain_that_is_read_does_not_stop_a_build_with_a_cache(root: Path) -> None:
    write(root, "app/long.py", "import flowx_runtime\nvalue = start" + ".next(1)" * LONG_CHAIN + "\n")

    assert build(root)[0].report.findings == ()
    assert_same_without_a_cache(root, build(root)[0])


class Evil:
    """What somebody could leave in a cache that comes with a repository."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("echo harm",)


def test_nothing_in_a_cache_runs() -> None:
    assert load(pickle.dumps(Evil())) is None
    assert load(pickle.dumps((len, print))) is None
    value = Constant(3j, Span(1, 1, 1, 2))
    assert load(dump(value)) == value


def test_a_file_left_behind_by_a_killed_build_goes_away_when_nobody_can_still_write_it(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    old, young = tmp_path / FOLDER / "facts1.unfinished", tmp_path / FOLDER / "facts2.unfinished"
    for file in (old, young):
        file.write_bytes(b"")
    os.utime(old, (time.time() - 7200,) * 2)

    write_cache_file(tmp_path / FOLDER / "facts", b"0123456789abcdef", b"body")

    assert [old.exists(), young.exists()] == [False, True]
    assert read_cache_file(tmp_path / FOLDER / "facts", b"0123456789abcdef") == b"body"


def cache_files(root: Path) -> list[Path]:
    return [file for file in (root / FOLDER).iterdir() if file.name.startswith(("facts", "outcome"))]
