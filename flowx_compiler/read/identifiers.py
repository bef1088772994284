"""Names as Python knows them: it brings every identifier into one form (NFKC) before it compares any two."""

from __future__ import annotations

import unicodedata

import libcst as cst


def identifier(node: cst.Name) -> str:
    """The name that Python takes an identifier for: two spellings that look alike are one."""
    return node.value if node.value.isascii() else unicodedata.normalize("NFKC", node.value)
