"""Finds every rule: each module of `rules/` holds the rules of one change, its mirror beside it."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TypeAlias

from flowx_compiler.diff import rules as package
from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule

Compare: TypeAlias = Callable[[Comparison], Iterator[Finding]]


@cache
def families() -> tuple[ModuleType, ...]:
    """The modules, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(import_module(f"{package.__name__}.{name}") for name in names)


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, by number."""
    found = [rule for family in families() for rule in family.RULES]
    return tuple(sorted(found, key=lambda rule: rule.number))


def compares() -> tuple[Compare, ...]:
    """What finds the changes, one function for each module."""
    return tuple(family.compare for family in families())
