"""One file's text to `syntax.Module`. The only place that knows LibCST; no LibCST object leaves it."""

from flowx_compiler.read.module import read_expression, read_module

__all__ = ["read_expression", "read_module"]
