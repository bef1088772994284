"""How a plan module spells the names it takes from other modules, with no two things under one name."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Callable
from dataclasses import dataclass, field

from flowx_compiler.lower.plan_model import Import
from flowx_compiler.model import TypeExpr

RESERVED = frozenset(dir(builtins)) | frozenset(keyword.kwlist)


def type_text(type_: TypeExpr, spell: Callable[[str], str]) -> str:
    """A type as an expression; a parametrized contract (`Page[Line]`) is a class of its own."""
    if type_.name in ("None", "..."):
        return type_.name
    arguments = [type_text(argument, spell) for argument in type_.arguments]
    if type_.name == "|":
        return " | ".join(arguments)
    arguments += [ascii(value) for value in type_.literals]
    name = type_.name.removeprefix("builtins.") if type_.name.startswith("builtins.") else spell(type_.name)
    return f"{name}[{', '.join(arguments)}]" if arguments else name


@dataclass(slots=True)
class Spelling:
    """Collects imports. Ask `name` for every qualified name before writing it."""

    taken: set[str]
    """Names that mean something else somewhere in the module already."""
    _names: dict[str, str] = field(default_factory=dict)
    _imports: dict[str, Import] = field(default_factory=dict)

    def name(self, qualified: str, *, home: str | None = None) -> str:
        """The spelling of a qualified name; it is imported from its home.

        Args:
            qualified: the module that defines the name, a dot, and the name.
            home: the module, where it is not simply what stands before the last dot.
        """
        if qualified.startswith("builtins."):
            builtin = qualified.removeprefix("builtins.")
            if builtin not in self.taken - RESERVED:
                return builtin
        module, _, name = qualified.rpartition(".") if home is None else (home, ".", qualified[len(home) + 1 :])
        root, _, rest = name.partition(".")
        key = f"{module}.{root}"
        if key not in self._names:
            spelt = self._free(root)
            self._names[key] = spelt
            self._imports[key] = Import(module, root, spelt if spelt != root else None)
        return self._names[key] + (f".{rest}" if rest else "")

    def module(self, qualified: str) -> str:
        """The spelling of a module itself (`import a.b as b`)."""
        if qualified not in self._names:
            package, _, name = qualified.rpartition(".")
            spelt = self._free(name)
            self._names[qualified] = spelt
            if package:
                self._imports[qualified] = Import(package, name, spelt if spelt != name else None)
            else:
                self._imports[qualified] = Import(qualified, None, spelt if spelt != name else None)
        return self._names[qualified]

    @property
    def imports(self) -> tuple[Import, ...]:
        """What to import, sorted."""
        return tuple(sorted(self._imports.values(), key=lambda item: (item.module, item.name or "", item.alias or "")))

    @property
    def names(self) -> dict[str, str]:
        """Every qualified name and its spelling."""
        return dict(sorted(self._names.items()))

    def _free(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self.taken:
            name = f"{wanted}_{number}"
            number += 1
        self.taken.add(name)
        return name
