"""Everything outside the engine: what was done to it, and the time, kept where the death of a process cannot reach."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

START = datetime(2031, 5, 6, 12, tzinfo=UTC)

Line: TypeAlias = dict[str, Any]


class Effect(NamedTuple):
    """One call of one capability, as the outside saw it."""

    instance: str
    scope: str
    name: str
    capability: str
    attempt: int
    key: str
    what: str


class Write(NamedTuple):
    """One write to the journal."""

    name: str
    has_written: bool
    """Whether there was anything to write."""
    is_behind_news: bool
    """Whether something happened outside since the write before: else a death before this one is a death after it."""


@dataclass
class Log:
    """What was noted, in order."""

    effects: list[Effect] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    now: datetime = START

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Log:
        log, is_news = cls(), True
        for line in lines:
            if "effect" in line:
                log.effects.append(Effect(*line["effect"]))
            elif "write" in line:
                name, has_written = line["write"]
                log.writes.append(Write(name, has_written, is_news))
                is_news = False
            else:
                log.now = datetime.fromisoformat(line["clock"])
            is_news = is_news or "write" not in line
        return log

    @classmethod
    def read(cls, path: Path) -> Log:
        return cls.of(json.loads(line) for line in path.read_text().splitlines()) if path.exists() else cls()


def note_in(path: str) -> Callable[[Line], None]:
    """Appends to a file. What was handed to the kernel outlives a killed process."""
    file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    return lambda line: _append(file, line)


def _append(file: int, line: Line) -> None:
    os.write(file, json.dumps(line).encode() + b"\n")


class World:
    """What one process sees of it; its clock stands still until it is moved."""

    def __init__(self, note: Callable[[Line], None], now: datetime = START) -> None:
        self.note = note
        self._now = now

    def touch(self, ctx: Any, what: str) -> None:
        effect = Effect(
            str(ctx.instance_id), ctx.scope, ctx.name, ctx.capability_id, ctx.attempt, ctx.idempotency_key, what
        )
        self.note({"effect": effect})

    def now(self) -> datetime:
        return self._now

    def move_to(self, instant: datetime) -> None:
        self._now = max(self._now, instant)
        self.note({"clock": self._now.isoformat()})
