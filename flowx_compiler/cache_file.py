"""Files of the cache: whole or ignored, and nothing in them can run."""

from __future__ import annotations

import io
import pickle
import sys
import time
from hashlib import blake2b
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from flowx_compiler.collecting import without_collecting
from flowx_compiler.identity import DIGEST_BYTES

_MAGIC = b"flowx cache 1\n"
_UNFINISHED = ".unfinished"
_ABANDONED_AFTER = 3600.0
"""Seconds after which nobody can still be writing a file."""
_TRUSTED_MODULES = (
    "flowx_compiler.syntax",
    "flowx_compiler.findings",
    "flowx_compiler.verdict",
    "flowx_compiler.report.report",
    "flowx_compiler.outcome",
)
_TRUSTED_BUILTINS = frozenset({("builtins", "complex"), ("builtins", "frozenset")})
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder can be deleted at any time.\n"


def read_cache_file(file: Path, identity: bytes) -> memoryview | None:
    """What a file holds; `None` unless it is whole and was written by this compiler."""
    try:
        content = memoryview(file.read_bytes())
    except OSError:
        return None
    head = _MAGIC + identity
    body = content[len(head) + DIGEST_BYTES :]
    is_ours = content[: len(head)] == head and content[len(head) : len(head) + DIGEST_BYTES] == _digest(body)
    return body if is_ours else None


def write_cache_file(file: Path, identity: bytes, body: bytes) -> None:
    """Replace a file as a whole. A cache that cannot be written costs time, and never fails a build."""
    try:
        _prepare(file.parent)
        with NamedTemporaryFile("wb", dir=file.parent, prefix=file.name, suffix=_UNFINISHED, delete=False) as new:
            new.write(b"".join((_MAGIC, identity, _digest(body), body)))
        Path(new.name).replace(file)
    except OSError:
        return


def dump(value: object) -> bytes:
    """Plain data as bytes."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def load(content: bytes | memoryview) -> object:
    """The plain data that bytes hold; `None` for anything else."""
    try:
        with without_collecting():
            return _Unpickler(io.BytesIO(content)).load()
    except Exception:  # whatever foreign bytes make the unpickler raise, they mean: not ours
        return None


class _Unpickler(pickle.Unpickler):
    """Makes syntax, findings and outcomes, and can call nothing else."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) in _TRUSTED_BUILTINS:
            return super().find_class(module_name, global_name)
        module = sys.modules.get(module_name) if module_name in _TRUSTED_MODULES else None
        found = vars(module).get(global_name) if module is not None else None
        if isinstance(found, type) and found.__module__ == module_name:
            return found
        raise pickle.UnpicklingError(f"{module_name}.{global_name} has no place in a cache")


def _prepare(folder: Path) -> None:
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", "utf-8")
        (folder / "CACHEDIR.TAG").write_text(_TAG, "utf-8")
    for left in folder.glob(f"*{_UNFINISHED}"):
        if left.stat().st_mtime < time.time() - _ABANDONED_AFTER:
            left.unlink(missing_ok=True)


def _digest(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=DIGEST_BYTES).digest()
