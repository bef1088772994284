"""Plants a fault: a line of the engine's source, changed for the length of a test."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import pytest


def plant(monkeypatch: pytest.MonkeyPatch, function: Any, *changes: tuple[str, str]) -> None:
    """Have a function of the engine run with parts of its source replaced."""
    source = inspect.getsource(function)
    for old, new in changes:
        assert source.count(old) == 1, f"{function.__qualname__} does not say {old!r} once any more"
        source = source.replace(old, new)
    module = sys.modules[function.__module__]
    planted: dict[str, Any] = {}
    exec(compile(source, f"planted in {module.__name__}", "exec"), module.__dict__, planted)
    monkeypatch.setattr(module, function.__name__, planted[function.__name__])
