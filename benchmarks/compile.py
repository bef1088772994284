"""How long building takes, beside `ruff check` and mypy on the same tree, measured in one run.

    python benchmarks/compile.py            # everything; mypy takes most of the time
    python benchmarks/compile.py --no-mypy --files 200 --flows 20

Each line is the shortest of several runs, because everything else that a machine does only ever adds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.source_tree import FILES, FLOWS, write_tree  # noqa: E402

START_LIMIT = 0.08


@dataclass(frozen=True)
class Row:
    name: str
    seconds: float
    limit: float | None = None
    limit_is: str = ""

    def __str__(self) -> str:
        shown = f"{self.name:<34} {self.seconds:8.3f} s"
        if self.limit is None:
            return shown
        verdict = "ok" if self.seconds <= self.limit else "TOO SLOW"
        return f"{shown}   at most {self.limit:.3f} s ({self.limit_is})   {verdict}"


def measured(command: list[str], tree: Path, *, runs: int, before: Callable[[], None] = lambda: None) -> float:
    found = []
    for _ in range(runs):
        before()
        started = time.perf_counter()
        done = subprocess.run(command, cwd=tree, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        found.append(time.perf_counter() - started)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return min(found)


ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT), "NO_COLOR": "1"}
FLOWX = [sys.executable, "-m", "flowx_cli"]


def rows(tree: Path, *, runs: int, with_mypy: bool) -> list[Row]:
    edited = tree / "shop" / "flows" / "order7.py"
    edits = iter(range(1000))

    def forget() -> None:
        shutil.rmtree(tree / ".flowx_cache", ignore_errors=True)
        shutil.rmtree(tree / "shop_plans", ignore_errors=True)
        (tree / "flowx.manifest.json").unlink(missing_ok=True)

    def edit() -> None:
        with edited.open("a", encoding="utf-8") as file:
            file.write(f"EDIT_{next(edits)} = 1\n")

    bare = measured([sys.executable, "-c", "pass"], tree, runs=3 * runs)
    ruff = measured([sys.executable, "-m", "ruff", "check", "--no-cache", "shop"], tree, runs=2 * runs)
    cold = measured([*FLOWX, "build"], tree, runs=runs, before=forget)
    warm = measured([*FLOWX, "build"], tree, runs=2 * runs)
    one = measured([*FLOWX, "build"], tree, runs=runs, before=edit)
    found = [Row("bare interpreter", bare), Row("ruff check --no-cache", ruff)]
    if with_mypy:
        mypy = measured([sys.executable, "-m", "mypy", f"--cache-dir={os.devnull}", "shop"], tree, runs=1)
        found += [Row("mypy, cold", mypy), Row("build, cold", cold, mypy / 7, "a seventh of mypy")]
    else:
        found.append(Row("build, cold", cold))
    found.append(Row("build, nothing changed", warm, ruff, "ruff"))
    found.append(Row("build, one file changed", one, 1.5 * ruff, "1.5 times ruff"))
    for arguments in (["--version"], ["--help"], ["explain", "FLOWX1044"]):
        seconds = measured([*FLOWX, *arguments], tree, runs=3 * runs) - bare
        name = f"flowx {' '.join(arguments)}, over bare"
        found.append(Row(name, seconds, START_LIMIT, "a start nobody notices"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--flows", type=int, default=FLOWS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-mypy", action="store_true")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        tree = Path(folder)
        lines = write_tree(tree, files=given.files, flows=given.flows)
        print(f"{given.files} files, {lines} lines, {given.flows} flows; {os.cpu_count()} processors")
        found = rows(tree, runs=given.runs, with_mypy=not given.no_mypy)
    for row in found:
        print(row)
    raise SystemExit(any(row.limit is not None and row.seconds > row.limit for row in found))


if __name__ == "__main__":
    main()
