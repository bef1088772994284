"""Walks over the constructs of a body, blocks included."""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.model import Construct, Sequence, blocks


def constructs(body: Sequence) -> Iterator[Construct]:
    """Every construct, those in blocks included, in declaration order."""
    for construct in body.constructs:
        yield construct
        for block in blocks(construct):
            yield from constructs(block)


def sequences(body: Sequence) -> Iterator[Sequence]:
    """The body and every block inside it."""
    yield body
    for construct in body.constructs:
        for block in blocks(construct):
            yield from sequences(block)
