"""What every part of linking shares: sources, names, types, constants, problems, and the declarations found so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowx_compiler.findings import Place
from flowx_compiler.link.constants import Constants
from flowx_compiler.link.names import Names
from flowx_compiler.link.problems import Problems
from flowx_compiler.link.sources import Sources
from flowx_compiler.link.types import Types
from flowx_compiler.model import Capability, Contract, Enumeration, ErrorType, Event, Flow, Policy, Signal
from flowx_compiler.syntax import Argument, Call, Expr, Span

RUNTIME = "flowx_runtime."


@dataclass(slots=True)
class Project:
    """The state of one link."""

    sources: Sources
    names: Names
    types: Types
    constants: Constants
    problems: Problems = field(default_factory=Problems)
    contracts: dict[str, Contract | None] = field(default_factory=dict)
    """`None` for a class that was looked at and is no contract."""
    enumerations: dict[str, Enumeration | None] = field(default_factory=dict)
    capabilities: dict[str, Capability | None] = field(default_factory=dict)
    events: dict[str, Event | None] = field(default_factory=dict)
    signals: dict[str, Signal | None] = field(default_factory=dict)
    errors: dict[str, ErrorType | None] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)
    flows: dict[str, Flow] = field(default_factory=dict)
    flow_inputs: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def over(cls, sources: Sources) -> Project:
        """A project over files, nothing of it read yet."""
        names = Names(sources)
        return cls(sources, names, Types(names), Constants(names, sources))

    def place(self, module: str, span: Span) -> Place:
        """A place in a module's file."""
        found = self.sources.module(module)
        return Place(module if found is None else found.file, span)

    def decorator(self, module: str, decorators: tuple[Expr, ...], name: str) -> tuple[Expr, ...]:
        """The decorators that are the runtime's `name`, called or not."""
        return tuple(
            decorator
            for decorator in decorators
            if self.names.resolve_expression(module, decorator.function if isinstance(decorator, Call) else decorator)
            == RUNTIME + name
        )


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of a decorator or builder call by parameter name."""

    by_name: dict[str, Argument]

    def get(self, name: str) -> Expr | None:
        """The argument's expression, or `None` where it was not given."""
        argument = self.by_name.get(name)
        return None if argument is None else argument.value
