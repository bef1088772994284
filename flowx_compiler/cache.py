"""What the last build learnt, in `.flowx_cache/` of the project, so that the next one reads only what changed.

Two things are kept, and each is a pure function of its key:

- the facts of one file, by the file's bytes and name: its `syntax.Module`, or only what it imports;
- the outcome of a whole build, by *every* input of it: each file, the settings, and the compiler itself.

An outcome is a verdict over many files, and caching those is how caches go stale: what is found in one file can be
about another. It is sound here because the key leaves nothing out. Any change anywhere gives another key, and then
everything is done again but the reading of files that are the same.

Nothing here is trusted. A file counts only if it is whole (it holds a digest of itself), from this very compiler, and
made of plain data: a cache may have come with a repository that somebody else wrote. Whatever else is there is ignored
without a word, and replaced. Files are replaced as a whole: of two builds at once the later one's file stays, and a
build that is killed leaves the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from flowx_compiler.cache_file import dump, load, read_cache_file, write_cache_file
from flowx_compiler.identity import DIGEST_BYTES, compiler_identity
from flowx_compiler.outcome import Outcome
from flowx_compiler.read.file_reader import FileReader
from flowx_compiler.read.imports import Taken, find_imports
from flowx_compiler.syntax import Module

if TYPE_CHECKING:
    from flowx_compiler.source_file import SourceFile

_Imported: TypeAlias = tuple[tuple[str, str | None], ...]

FOLDER = ".flowx_cache"
_FACTS = "facts"
_MOST_UNUSED = 2000
"""So many facts may stay that a build had no use for: another application's, another branch's."""


class Cache:
    """The cache of one build; also a reader that remembers what was read."""

    def __init__(self, root: Path) -> None:
        self.parsed: list[str] = []
        """Modules that had to be read through LibCST: what a build cost."""
        self._folder = root / FOLDER
        self._identity = compiler_identity()
        self._keys: dict[str, bytes] = {}
        self._facts: _Facts | None = None

    def key(self, settings: object, files: Iterable[SourceFile]) -> bytes:
        """A digest over every input of a build.

        Args:
            settings: everything but the files; its `repr` must tell any two apart.
            files: every source.
        """
        inputs = blake2b(repr(settings).encode(), digest_size=DIGEST_BYTES)
        for file in sorted(files, key=lambda file: file.file):
            inputs.update(self._key(file))
        return inputs.digest()

    def outcome(self, slot: str, key: bytes) -> Outcome | None:
        """The outcome in a slot, if it is that of the build with this key."""
        content = read_cache_file(self._slot(slot), self._identity)
        if content is None or content[:DIGEST_BYTES] != key:
            return None
        found = load(content[DIGEST_BYTES:])
        return found if isinstance(found, Outcome) else None

    def keep(self, slot: str, key: bytes, outcome: Outcome) -> None:
        """Keep an outcome in place of the slot's earlier one, and what was learnt about files on the way."""
        write_cache_file(self._slot(slot), self._identity, key + dump(outcome))
        self.keep_facts()

    def keep_facts(self) -> None:
        """Keep what this build learnt about files, if it learnt anything."""
        if self._facts is not None and self._facts.has_news:
            write_cache_file(self._folder / _FACTS, self._identity, self._facts.packed())

    def read(self, files: Sequence[SourceFile]) -> Sequence[Module]:
        """The modules of files: remembered, or read now."""
        facts = self._loaded()
        found = {file.module: facts.module(self._key(file)) for file in files}
        missing = [file for file in files if found[file.module] is None]
        for file, read in zip(missing, FileReader().read(missing) if missing else (), strict=True):
            found[file.module] = read
            facts.learn(self._key(file), read)
            self.parsed.append(file.module)
        return [module for file in files if (module := found[file.module]) is not None]

    def imports(self, file: SourceFile) -> Iterable[Taken]:
        """What a file imports: remembered, or looked for now."""
        return self._loaded().imports(self._key(file), file)

    def _key(self, file: SourceFile) -> bytes:
        if file.file not in self._keys:
            name = f"{file.module}\0{file.file}\0{file.is_package}\0".encode()
            self._keys[file.file] = blake2b(name + file.source, digest_size=DIGEST_BYTES).digest()
        return self._keys[file.file]

    def _loaded(self) -> _Facts:
        if self._facts is None:
            self._facts = _Facts.unpacked(read_cache_file(self._folder / _FACTS, self._identity))
        return self._facts

    def _slot(self, slot: str) -> Path:
        return self._folder / f"outcome-{blake2b(slot.encode(), digest_size=4).hexdigest()}"


class _Facts:
    """Facts by file key. A module stays bytes until somebody wants it, and is kept by those bytes."""

    def __init__(self, modules: dict[bytes, memoryview], imported: dict[bytes, _Imported]) -> None:
        self.has_news = False
        self._modules = modules
        self._imported = imported
        self._used: set[bytes] = set()

    @classmethod
    def unpacked(cls, body: memoryview | None) -> _Facts:
        """From what `packed` gave; empty from anything else."""
        if body is not None:
            start = 8 + int.from_bytes(body[:8], "big")
            index = load(body[8:start])
            if isinstance(index, tuple):
                places, imported = index
                return cls({key: body[start + first : start + end] for key, (first, end) in places.items()}, imported)
        return cls({}, {})

    def packed(self) -> bytes:
        """Everything in one piece; what this build had no use for only as long as it is not too much."""
        unused = len(self._modules) + len(self._imported) - len(self._used)
        keeps_all = unused <= _MOST_UNUSED
        modules = {key: found for key, found in self._modules.items() if keeps_all or key in self._used}
        imported = {key: found for key, found in self._imported.items() if keeps_all or key in self._used}
        places, end = {}, 0
        for key, module in modules.items():
            places[key] = (end, end + len(module))
            end += len(module)
        index = dump((places, imported))
        return b"".join((len(index).to_bytes(8, "big"), index, *modules.values()))

    def module(self, key: bytes) -> Module | None:
        """A module that is remembered."""
        content = self._modules.get(key)
        found = None if content is None else load(content)
        if not isinstance(found, Module):
            return None
        self._used.add(key)
        return found

    def learn(self, key: bytes, module: Module) -> None:
        """Remember a module, unless it nests so deep that it cannot be written down: then it is read every time."""
        try:
            self._modules[key] = memoryview(dump(module))
        except RecursionError:
            return
        self.has_news = True
        self._used.add(key)

    def imports(self, key: bytes, file: SourceFile) -> Iterable[Taken]:
        """What a file imports."""
        self._used.add(key)
        if key not in self._imported:
            self.has_news = True
            self._imported[key] = tuple((taken.source, taken.name) for taken in find_imports(file))
        return [Taken(source, name) for source, name in self._imported[key]]
