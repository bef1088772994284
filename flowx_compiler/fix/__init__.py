"""Mends findings that have one right answer. A fix replaces exact spans, so the author's layout stays as it is.

Spans come with the syntax already; a codemod over the tree would parse every file a second time to find them again.
"""

from flowx_compiler.fix.run import FIXABLE, fixed_texts

__all__ = ["FIXABLE", "fixed_texts"]
