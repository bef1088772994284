"""One file's text to `syntax.Module`. The only place that knows LibCST; no LibCST object leaves it.

LibCST is imported when something is read: a build that finds everything in its cache does without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowx_compiler.syntax import Expr, Module

__all__ = ["read_expression", "read_module"]


def read_module(name: str, file: str, source: bytes, *, is_package: bool) -> Module:
    """Read one file. Never raises for what the file holds: what cannot be read is a problem of the module."""
    from flowx_compiler.read import module

    return module.read_module(name, file, source, is_package=is_package)


def read_expression(text: str) -> Expr | None:
    """Read the text of one expression, as a string annotation holds it; `None` where it is none."""
    from flowx_compiler.read import module

    return module.read_expression(text)
