"""Which entry of the old document is compared with which of the new: the newest of each `id@major`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from flowx_compiler.diff.versions import precedence


class Versioned(Protocol):
    """An entry of a manifest that has an identity and a version."""

    @property
    def key(self) -> str: ...

    @property
    def version(self) -> str: ...


T = TypeVar("T", bound=Versioned)


@dataclass(frozen=True, slots=True)
class Pair(Generic[T]):
    """The newest of one group on both sides."""

    key: str
    old: T
    new: T


@dataclass(frozen=True, slots=True)
class Groups(Generic[T]):
    """All groups of one kind of entry, each list sorted by key."""

    kept: tuple[Pair[T], ...]
    gone: tuple[T, ...]
    added: tuple[T, ...]


def group(old: Iterable[T], new: Iterable[T]) -> Groups[T]:
    """Pair the newest entries of both sides."""
    before, after = _newest(old), _newest(new)
    return Groups(
        kept=tuple(Pair(key, before[key], after[key]) for key in sorted(before.keys() & after.keys())),
        gone=tuple(before[key] for key in sorted(before.keys() - after.keys())),
        added=tuple(after[key] for key in sorted(after.keys() - before.keys())),
    )


def _newest(entries: Iterable[T]) -> dict[str, T]:
    newest: dict[str, T] = {}
    for entry in entries:
        known = newest.setdefault(entry.key, entry)
        if known is not entry and _is_newer(entry, known):
            newest[entry.key] = entry
    return newest


def _is_newer(entry: Versioned, known: Versioned) -> bool:
    here, there = precedence(entry.version), precedence(known.version)
    # Two entries of one version are not a manifest that `build` writes; `repr` keeps the choice free of their order.
    return here > there or (here == there and repr(entry) > repr(known))
