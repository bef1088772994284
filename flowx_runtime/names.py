"""Names of a package that are found in its modules on first use, so that importing the package costs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def resolver(package: str, home: Mapping[str, str]) -> Callable[[str], object]:
    """What a package gives as its `__getattr__` (PEP 562).

    Args:
        package: its `__name__`.
        home: by public name, the module below the package that has it.
    """

    def resolve(name: str) -> object:
        module = home.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return resolve
