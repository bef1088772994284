"""What a build costs, in counts: seconds say more about the machine than about the compiler."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.source_tree import write_tree
from flowx_cli.building import build_application, configured
from flowx_compiler.cache import Cache
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.read import module as reading
from flowx_compiler.read import workers
from flowx_compiler.syntax import Module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write_tree(tmp_path, files=30, flows=4)
    return tmp_path


def parsed(root: Path) -> list[str]:
    cache = Cache(root)
    build_application(configured(root)[0], cache=cache)
    return sorted(cache.parsed)


def test_c04_d11_a_build_parses_what_changed_and_can_matter(tree: Path) -> None:
    flows = [f"shop.flows.order{number}" for number in range(4)]
    assert parsed(tree) == flows
    assert parsed(tree) == []
    assert parsed(tree) == []
    with (tree / "shop/flows/order2.py").open("a", encoding="utf-8") as file:
        file.write("EDITED = 1\n")
    assert parsed(tree) == ["shop.flows.order2"]
    with (tree / "shop/part0/module3.py").open("a", encoding="utf-8") as file:
        file.write("EDITED = 1\n")
    assert parsed(tree) == []


def test_c11_a_project_of_many_files_is_walked_once_per_file() -> None:
    looked_at = 0

    class Counting(dict[str, SourceFile]):
        def __iter__(self) -> object:  # type: ignore[override]
            nonlocal looked_at
            looked_at += 1
            return super().__iter__()

    sources = Sources.of(SourceFile(f"a{number % 100}.b{number}", f"{number}.py", b"") for number in range(20_000))
    sources.files = Counting(sources.files)

    for number in range(20_000):
        assert sources.is_package(f"a{number % 100}")
        assert not sources.is_package(f"a{number}.b")

    assert looked_at == 0


def test_d12_few_files_are_read_in_this_process_and_many_in_few(monkeypatch: pytest.MonkeyPatch) -> None:
    here: list[int] = []
    read_chunk = workers._read_chunk

    def counting(files: Sequence[SourceFile]) -> list[Module]:
        here.append(os.getpid())
        return read_chunk(files)

    monkeypatch.setattr(workers, "_read_chunk", counting)
    files = [SourceFile(f"m{number}", f"m{number}.py", b"x = 1\n") for number in range(40)]

    workers.read_files(files[: workers.FEWEST_FOR_PROCESSES - 1], processes=2)

    assert here == [os.getpid()]
    chunks = workers._chunks(files, 8)
    assert sum(map(len, chunks)) == 40
    assert len(chunks) == 8


def test_files_are_the_same_whether_one_process_reads_them_or_two(tree: Path) -> None:
    paths = sorted(tree.rglob("*.py"))
    files = [SourceFile(path.stem, path.name, path.read_bytes()) for path in paths if path.stat().st_size]

    assert workers.read_files(files, processes=2) == workers.read_files(files, processes=1)


@pytest.mark.skipif(sys.platform != "linux", reason="processes that are forked know what a test has replaced")
def test_d08_a_file_that_ends_the_process_is_named_and_the_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read_module = reading.read_module

    def dying(name: str, file: str, source: bytes, *, is_package: bool) -> Module:
        if name == "m7":
            os._exit(139)
        return read_module(name, file, source, is_package=is_package)

    monkeypatch.setattr(workers, "read_module", dying)
    files = [SourceFile(f"m{number}", f"m{number}.py", b"x = 1\n") for number in range(12)]

    modules = workers.read_files(files, processes=2)

    assert [module.name for module in modules] == [file.module for file in files]
    assert [module.name for module in modules if module.problems] == ["m7"]
    assert all(module.body for module in modules if module.name != "m7")


def test_d09_a_long_repetitive_file_is_parsed_once_and_its_scopes_never(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import flowx_runtime\n" + "value = value + 1\n" * 10_000
    trees = []
    parse = reading.cst.parse_module
    monkeypatch.setattr(reading.cst, "parse_module", lambda text: trees.append(text) or parse(text))

    module = reading.read_module("long", "long.py", text.encode(), is_package=False)

    assert len(module.body) == 10_001
    assert len(trees) == 1
    assert "libcst.metadata.scope_provider" not in sys.modules or not hasattr(reading, "MetadataWrapper")
