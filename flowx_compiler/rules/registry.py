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
    names = sorted(module.name for module in pkgutil.iter_modules(rules.__path__) if module.name.startswith("flowx"))
    return tuple(_load(import_module(f"{rules.__name__}.{name}")) for name in names)


def find_rule(id: str) -> RegisteredRule | None:
    """The rule of an id (`FLOWX1044`, `flowx1044` or `1044`)."""
    wanted = id.upper().removeprefix("FLOWX")
    return next((entry for entry in registry() if entry.rule.id == f"FLOWX{wanted}"), None)


def _load(module: ModuleType) -> RegisteredRule:
    page = module.__doc__ or ""
    return RegisteredRule(module.RULE, page, module.INVALID, module.VALID, module.check, module)
