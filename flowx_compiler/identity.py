"""Which compiler this is, as a digest."""

from __future__ import annotations

import os
import sys
from hashlib import blake2b
from importlib.util import find_spec

DIGEST_BYTES = 16


def compiler_identity() -> bytes:
    """A digest of everything that decides what files compile to, other than the files and the configuration.

    The bytes of the compiler itself are in it, not its version: whoever works on the compiler changes it between two
    builds of one version. Python is, because it names the mistake in a file that does not parse; LibCST is, because it
    reads; and of the runtime the vocabulary that the compiler reads.
    """
    identity = blake2b(repr((sys.version_info, _libcst())).encode(), digest_size=DIGEST_BYTES)
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  # on every run
    for folder in ("flowx_compiler", "flowx_runtime/plan", "flowx_runtime/authoring"):
        for file in _files(f"{top}/{folder}"):
            identity.update(_content(file))
    identity.update(_content(f"{top}/flowx_runtime/__init__.py"))
    return identity.digest()


def _files(folder: str) -> list[str]:
    return sorted(
        f"{above}/{name}"
        for above, _, names in os.walk(folder)
        for name in names
        if name.endswith((".py", ".txt", ".json"))
    )


def _content(file: str) -> bytes:
    with open(file, "rb", buffering=0) as source:  # noqa: PTH123  # two hundred files on every run
        return file.rpartition("/")[2].encode() + b"\0" + source.read()


def _libcst() -> bytes:
    """LibCST's version without importing it, which takes longer than an unchanged build."""
    spec = find_spec("libcst")
    if spec is None or spec.origin is None:
        return b""
    version = f"{spec.origin.removesuffix('__init__.py')}_version.py"
    return _content(version) if os.path.exists(version) else spec.origin.encode()  # noqa: PTH110
