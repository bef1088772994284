"""Every rule, found by its file's name."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

from flowx_compiler import rules
from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import Example, Rule


@dataclass(frozen=True, slots=True)
class RegisteredRule:
    """A rule with everything its file holds."""

    rule: Rule
    page: str
    """The module's docstring."""
    invalid: tuple[Example, ...]
    valid: tuple[Example, ...]
    check: Callable[[Program], Iterator[Finding]]
    module: ModuleType


@cache
def registry() -> tuple[RegisteredRule, ...]:
    """Every rule, by id."""
    return tuple(_load(name) for name in _modules())


def find_rule(id: str) -> RegisteredRule | None:
    """The rule of an id (`FLOWX1044`, `flowx1044` or `1044`). Its file's name begins with it: no other is imported."""
    wanted = f"flowx{id.lower().removeprefix('flowx')}"
    return next((_load(name) for name in _modules() if name.partition("_")[0] == wanted), None)


def rule_ids() -> tuple[str, ...]:
    """The id of every rule, in order. Their files' names hold them: none is imported."""
    return tuple(name.partition("_")[0].upper() for name in _modules())


@cache
def _modules() -> tuple[str, ...]:
    return tuple(sorted(found.name for found in pkgutil.iter_modules(rules.__path__) if found.name.startswith("flowx")))


@cache
def _load(name: str) -> RegisteredRule:
    module = import_module(f"{rules.__name__}.{name}")
    page = module.__doc__ or ""
    return RegisteredRule(module.RULE, page, module.INVALID, module.VALID, module.check, module)
