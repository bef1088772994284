"""Where each node of a tree stands in its text.

LibCST's own provider first copies the whole tree; generating the code once and noting the position
at each node gives the same answer for a fraction of the time. Half of the nodes of a tree are whitespace, and of
the rest not every one is asked for: so what is noted is cheap, and a span is made for who asks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TypeAlias

import libcst as cst
from libcst._nodes.internal import CodegenState

_NEWLINE = re.compile(r"\r\n?|\n")
Position: TypeAlias = tuple[int, int, int, int]
Positions: TypeAlias = Mapping[int, Position]
"""By the `id` of a node, for as long as the tree is held: hashing a node costs more than everything else here."""


@dataclass(slots=True)
class _Recorder(CodegenState):
    line: int = 1
    column: int = 1
    open: list[tuple[int, int]] = field(default_factory=list)
    found: dict[int, Position] = field(default_factory=dict)

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        # The tokens themselves are not wanted, only how far they move the position.
        if "\n" not in value and "\r" not in value:
            self.column += len(value)
            return
        lines = _NEWLINE.split(value)
        self.line += len(lines) - 1
        self.column = len(lines[-1]) + 1

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.open.append((self.line, self.column))

    def after_codegen(self, node: cst.CSTNode) -> None:
        line, column = self.open.pop()
        self.found.setdefault(id(node), (line, column, self.line, self.column))

    def record_syntactic_position(  # type: ignore[override]  # LibCST only enters and leaves it
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> AbstractContextManager[None]:
        return _Syntactic(self, node, start_node, end_node)

    def pop_trailing_newline(self) -> None:
        """Nothing to take back: no tokens are kept."""


class _Syntactic(AbstractContextManager[None]):
    """Notes the position of what is generated inside a `with`: a class, because a generator costs three times more."""

    __slots__ = ("_end_node", "_node", "_recorder", "_start", "_start_node")

    def __init__(
        self, recorder: _Recorder, node: cst.CSTNode, start_node: cst.CSTNode | None, end_node: cst.CSTNode | None
    ) -> None:
        self._recorder = recorder
        self._node = node
        self._start_node = start_node
        self._end_node = end_node

    def __enter__(self) -> None:
        self._start = (self._recorder.line, self._recorder.column)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        found = self._recorder.found
        start, end = self._start, (self._recorder.line, self._recorder.column)
        if self._start_node is not None:
            start = found[id(self._start_node)][:2]
        if self._end_node is not None:
            end = found[id(self._end_node)][2:]
        found[id(self._node)] = (*start, *end)


def positions(module: cst.Module) -> Positions:
    """The position of every node, without the whitespace and parentheses around it."""
    recorder = _Recorder(default_indent=module.default_indent, default_newline=module.default_newline)
    module._codegen(recorder)  # noqa: SLF001  # the one hook LibCST offers for positions without a copy
    return recorder.found
