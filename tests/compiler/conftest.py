"""Programs and plans from source text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowx_compiler.link import link
from flowx_compiler.link.sources import SourceFile, Sources
from flowx_compiler.model import Program


@pytest.fixture
def linked() -> Callable[..., Program]:
    """Links modules given as keyword arguments: `linked(flows="…", shop="…")`; `a__b` names module `a.b`."""

    def build(**modules: str) -> Program:
        files = [
            SourceFile(name.replace("__", "."), f"{name.replace('__', '/')}.py", text.encode())
            for name, text in modules.items()
        ]
        return link(Sources.of(files))

    return build
