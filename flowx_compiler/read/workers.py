"""Reads many files: in this process when they are few, in several when they are many."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

from flowx_compiler.collecting import without_collecting
from flowx_compiler.read.depth import allow_deep_trees
from flowx_compiler.read.module import TOO_COMPLEX, read_module, with_deep_stack
from flowx_compiler.syntax import Module, Problem, Span

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from flowx_compiler.source_file import SourceFile

FEWEST_FOR_PROCESSES = 8
"""Starting a process costs as much as reading a few files."""
_CHUNKS_PER_PROCESS = 4
"""More than one, so that a process that got the short files takes over from one that got the long ones."""


def read_files(files: Sequence[SourceFile], *, processes: int | None = None) -> list[Module]:
    """Read files; gives their modules in the same order.

    Args:
        files: what to read.
        processes: how many processes may work; as many as there are processors where it is not said.
    """
    count = min(processes or _processors(), len(files) // (FEWEST_FOR_PROCESSES // 2))
    if len(files) < FEWEST_FOR_PROCESSES or count < 2:
        return _read_chunk(files)
    found = _read_in_processes(_chunks(files, count * _CHUNKS_PER_PROCESS), count)
    return [found[file.module] for file in files]


def _read_in_processes(chunks: Sequence[Sequence[SourceFile]], count: int) -> dict[str, Module]:
    found: dict[str, Module] = {}
    left: list[SourceFile] = []
    with ProcessPoolExecutor(count, _start_method()) as pool:
        running = [(chunk, _submit(pool, chunk)) for chunk in chunks]
        for chunk, future in running:
            try:
                if future is None:
                    left += chunk
                else:
                    found.update((module.name, module) for module in future.result())
            except BrokenProcessPool:
                left += chunk
    # A file ended a process, and took every chunk that was under way with it: find out which.
    found.update((file.module, _read_apart(file)) for file in left)
    return found


def _submit(pool: ProcessPoolExecutor, chunk: Sequence[SourceFile]) -> Future[list[Module]] | None:
    try:
        return pool.submit(_read_chunk, chunk)
    except BrokenProcessPool:
        return None


def _read_apart(file: SourceFile) -> Module:
    """Read one file in a process of its own; if that dies, the file is the problem."""
    with ProcessPoolExecutor(1, _start_method()) as pool:
        try:
            return pool.submit(_read_chunk, (file,)).result()[0]
        except BrokenProcessPool:
            help_text = "split its longest expressions into several statements"
            problem = Problem(TOO_COMPLEX, "reading this file ended the process that read it", help_text, _START)
            lines = tuple(file.source.decode("utf-8", "replace").splitlines())
            return Module(file.module, file.file, file.is_package, (), lines, (), (problem,))


def _read_chunk(files: Sequence[SourceFile]) -> list[Module]:
    def read() -> list[Module]:
        return [read_module(file.module, file.file, file.source, is_package=file.is_package) for file in files]

    allow_deep_trees()  # what is read is pickled on its way back to the process that asked
    with without_collecting():
        return with_deep_stack(read)


def _chunks(files: Sequence[SourceFile], count: int) -> list[list[SourceFile]]:
    """Files dealt out from the largest down, so that chunks take about equally long."""
    by_size = sorted(files, key=lambda file: (-len(file.source), file.module))
    return [chunk for number in range(count) if (chunk := by_size[number::count])]


def _start_method() -> BaseContext:
    """Fork is ten times faster, and safe only where it is usual and no other thread holds a lock."""
    can_fork = sys.platform == "linux" and threading.active_count() == 1
    return multiprocessing.get_context("fork" if can_fork else "spawn")


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_START = Span(1, 1, 1, 1)
