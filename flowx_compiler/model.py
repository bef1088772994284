"""The linked program: every declaration with its references resolved, every flow as a tree.

`link` makes it, `check` and the rules judge it, `lower` flattens its flows. Names are qualified
(`shop.orders.PlaceOrder`: the module that defines the name, not the one that imported it), and two
names are the same thing exactly if they are equal: the runtime's bag is keyed by the exact class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, TypeAlias, TypeVar, assert_never, cast

from flowx_compiler.findings import Place, Related
from flowx_compiler.syntax import Assign, Class, Expr, Function, Lambda, Module

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class TypeExpr:
    """A resolved annotation: `tuple[Line, ...]` is `builtins.tuple` of `shop.Line` and `...`."""

    name: str
    """Qualified name (`builtins.str`, `shop.Line`, `typing.Any`); `"|"` for a union; `"None"`; `"..."`;
    `"?"` where the annotation cannot be resolved."""
    arguments: tuple[TypeExpr, ...] = ()
    literals: tuple[object, ...] = ()
    """The values of a `typing.Literal`."""

    def __str__(self) -> str:
        short = self.name if self.name == "..." else self.name.rpartition(".")[2]
        if self.name == "|":
            return " | ".join(str(argument) for argument in self.arguments)
        if not self.arguments:
            return short
        return f"{short}[{', '.join(str(argument) for argument in self.arguments)}]"


@dataclass(frozen=True, slots=True)
class Member:
    """One attribute of a contract, its own or inherited."""

    name: str
    kind: str
    """`"field"`, `"property"` or `"method"`."""
    type: TypeExpr
    """The field's type, the property's or the method's result."""
    has_default: bool
    is_sensitive: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Contract:
    """A class that is a pydantic model, by whatever road."""

    name: str
    """Qualified."""
    syntax: Class
    module: str
    members: tuple[Member, ...]
    is_complete: bool
    """Whether every base was found, so that an unknown member is really unknown."""
    is_frozen: bool
    place: Place
    """Its name in the class statement."""

    @property
    def fields(self) -> tuple[Member, ...]:
        """Its data members in definition order."""
        return tuple(member for member in self.members if member.kind == "field")


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An `Enum` class and its members."""

    name: str
    members: tuple[str, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Event:
    """A contract decorated with `@event`."""

    contract: str
    id: str
    version: str
    place: Place


@dataclass(frozen=True, slots=True)
class Signal:
    """A contract decorated with `@signal`."""

    contract: str
    id: str
    place: Place


@dataclass(frozen=True, slots=True)
class ErrorType:
    """A `FlowError` subclass."""

    name: str
    code: str
    category: str
    """As the runtime's `Category` values: `"not_found"`."""
    place: Place


@dataclass(frozen=True, slots=True)
class Stance:
    """Who may run a capability."""

    kind: str
    """`"public"`, `"authenticated"`, `"permission"` or `"internal"`."""
    argument: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class Capability:
    """A class or function decorated with `@capability`."""

    name: str
    """Qualified."""
    module: str
    id: str
    version: str
    is_class: bool
    is_async: bool
    request: TypeExpr
    result: TypeExpr
    """`TypeExpr("None")` for a capability that gives nothing back."""
    idempotent: bool
    side_effects: tuple[str, ...]
    stance: Stance | None
    errors: tuple[str, ...] | None
    """Qualified names, as declared; `None` where not declared."""
    deprecated: str | None
    function: Function
    """The function, or the class's `execute`."""
    owner: Class | None
    """The class, for a class capability."""
    place: Place
    """The `@capability(…)` decorator."""
    name_place: Place


@dataclass(frozen=True, slots=True)
class Backoff:
    """A folded `Backoff`."""

    growth: str
    """`"fixed"`, `"exponential"` or `"exponential_jitter"`."""
    base: timedelta
    ceiling: timedelta
    attempts: int | None


@dataclass(frozen=True, slots=True)
class Retry:
    """A folded `Retry`."""

    attempts: int | None
    backoff: Backoff | None
    place: Place


@dataclass(frozen=True, slots=True)
class Policy:
    """A `PolicySet` constant, folded as far as it can be."""

    name: str
    """Qualified name of the constant."""
    label: str
    timeout: timedelta | None
    retry: Retry | None
    compensation_retry: Retry | None
    kinds: tuple[str, ...]
    """Keywords it sets, sorted."""
    fallback_type: str | None
    """Qualified name of the class that the constant of its fallback is made of, where it is one call of a class."""
    is_readable: bool
    """Whether it is one `PolicySet(…)` call of literals."""
    place: Place


# --- what a builder call is given ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DataFunction:
    """A predicate, selector, map or projection: a lambda, or a named function of one context parameter."""

    module: str
    """The module it is written in: its free names are that module's."""
    syntax: Lambda | Function
    parameter: str
    name: str | None
    """Qualified name, for a named function at module level."""
    place: Place


@dataclass(frozen=True, slots=True)
class Value:
    """An expression that stays an expression in the plan, with what it folds to."""

    module: str
    syntax: Expr
    constant: str | None
    """Qualified name, where the expression names a module-level constant."""
    declared: Place | None
    """Where that constant is assigned."""
    place: Place


@dataclass(frozen=True, slots=True)
class DurationValue:
    """A duration argument. `folded` is `None` where it is not a constant (1054)."""

    value: Value
    folded: timedelta | None


@dataclass(frozen=True, slots=True)
class BackoffValue:
    """A backoff argument. `folded` is `None` where it is not a constant."""

    value: Value
    folded: Backoff | None


@dataclass(frozen=True, slots=True)
class CapabilityReference:
    """A capability named in a builder call."""

    capability: Capability
    value: Value
    """How the author spelt it."""

    @property
    def place(self) -> Place:
        """The argument that names it."""
        return self.value.place


@dataclass(frozen=True, slots=True)
class Label:
    """`.named("label")`."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class PolicyReference:
    """`.with_policy(POLICY)`."""

    policy: Policy
    value: Value
    place: Place
    """The method's name."""


# --- the constructs of a flow ----------------------------------------------------------------
# `place` is the method's name in the builder call (`poll_until`), unless said otherwise.


@dataclass(frozen=True, slots=True)
class Step:
    """`.step(…)`, or a capability given as a branch of a fork."""

    capability: CapabilityReference
    request: DataFunction | None
    compensation: CapabilityReference | None
    policy: PolicyReference | None
    label: Label | None
    place: Place


@dataclass(frozen=True, slots=True)
class When:
    """`.when(…).otherwise(…)`."""

    predicate: DataFunction
    then: Sequence
    otherwise: Sequence | None
    place: Place


@dataclass(frozen=True, slots=True)
class Case:
    """`.case(value, block)`."""

    value: Value
    folded: object
    """The literal, or the qualified name of the enum member as `("enum", "shop.Channel", "RETAIL")`."""
    block: Sequence
    place: Place


@dataclass(frozen=True, slots=True)
class Switch:
    """`.switch(…).case(…)….default(…)`."""

    selector: DataFunction
    cases: tuple[Case, ...]
    default: Sequence | None
    place: Place


@dataclass(frozen=True, slots=True)
class MergeRule:
    """A folded `Merge`."""

    rule: str
    """`"all_must_succeed"`, `"all_settled"`, `"first_success"` or `"quorum"`."""
    needed: int | None
    place: Place


@dataclass(frozen=True, slots=True)
class Parallel:
    """`.parallel(…)`."""

    branches: tuple[Sequence, ...]
    merge: MergeRule
    place: Place


@dataclass(frozen=True, slots=True)
class ForEach:
    """`.for_each(…)`."""

    selector: DataFunction
    item: TypeExpr
    """The element's type; `?` where it cannot be told."""
    body: Sequence
    max_concurrency: int
    continue_on_error: bool
    place: Place


@dataclass(frozen=True, slots=True)
class SubFlow:
    """`.sub_flow(…)`."""

    flow: str
    """Qualified name of the child's class; look it up in `Program.flows`."""
    request: DataFunction
    is_detached: bool
    label: Label | None
    value: Value
    place: Place


@dataclass(frozen=True, slots=True)
class AwaitSignal:
    """`.await_signal(…).on_timeout(…)`."""

    signal: Signal
    signal_value: Value
    timeout: DurationValue
    on_timeout: Sequence | None
    place: Place


@dataclass(frozen=True, slots=True)
class Delay:
    """`.delay(…)`."""

    duration: DurationValue
    place: Place


@dataclass(frozen=True, slots=True)
class Poll:
    """`.poll_until(…).or_signal(…).on_timeout(…)`."""

    capability: CapabilityReference
    until: DataFunction
    interval: BackoffValue
    timeout: DurationValue
    signal: Signal | None
    signal_value: Value | None
    on_timeout: Sequence | None
    place: Place


@dataclass(frozen=True, slots=True)
class Emit:
    """`.emit(…)`, or `.emit_on_failure(…)`."""

    event: Event
    event_value: Value
    payload: DataFunction
    on_failure: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Fail:
    """`.fail(…)`."""

    error: ErrorType
    value: Value
    place: Place


Construct: TypeAlias = Step | When | Switch | Parallel | ForEach | SubFlow | AwaitSignal | Delay | Poll | Emit | Fail


@dataclass(frozen=True, slots=True)
class Sequence:
    """A block: constructs in declaration order."""

    constructs: tuple[Construct, ...]
    place: Place
    """The block argument; for a flow's own body, the name `define`."""
    unreachable: tuple[Place, ...] = ()
    """Calls after a `.fail(…)` in this block; they are not compiled (1027)."""


def blocks(construct: Construct) -> tuple[Sequence, ...]:
    """The blocks inside a construct, in declaration order."""
    match construct:
        case When():
            return (construct.then, *(() if construct.otherwise is None else (construct.otherwise,)))
        case Switch():
            inner = tuple(case.block for case in construct.cases)
            return (*inner, *(() if construct.default is None else (construct.default,)))
        case Parallel():
            return construct.branches
        case ForEach():
            return (construct.body,)
        case AwaitSignal() | Poll():
            return () if construct.on_timeout is None else (construct.on_timeout,)
        case Step() | SubFlow() | Delay() | Emit() | Fail():
            return ()
        case _:
            assert_never(construct)


@dataclass(frozen=True, slots=True)
class HttpTrigger:
    """`@http_trigger(…)`."""

    method: str
    route: str
    idempotent: bool
    place: Place


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """`@cron_trigger(…)`."""

    expression: str
    time_zone: str
    missed_fire: str
    jitter: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class Flow:
    """A class decorated with `@flow`."""

    name: str
    """Qualified."""
    module: str
    id: str
    version: str
    is_durable: bool
    profile_place: Place | None
    """The `profile=` argument."""
    owner: str | None
    deadline: timedelta | None
    deadline_place: Place | None
    input: TypeExpr
    output: TypeExpr
    """`TypeExpr("None")` for a flow without an output."""
    triggers: tuple[HttpTrigger | CronTrigger, ...]
    body: Sequence
    returns: DataFunction | None
    on_failure: tuple[Emit, ...]
    syntax: Class
    is_sound: bool
    """Whether its grammar, arguments and names were all understood. Only a sound flow is judged by data flow
    and compiled; the problems that make it unsound are findings already."""
    place: Place
    """The `@flow(…)` decorator."""
    name_place: Place


@dataclass(frozen=True, slots=True)
class Problem:
    """Something linking or the grammar could not accept; the rule of that id reports it."""

    id: str
    place: Place
    message: str
    help: str
    label: str = ""
    related: tuple[Related, ...] = ()


class Lookup(Protocol):
    """What names mean, for whoever looks deeper than linking did. Asking may read a file that nothing led to before."""

    def resolve_expression(self, module: str, expression: Expr) -> str | None:
        """The qualified name that a dotted expression means; `None` where it is none, or cannot be resolved."""
        ...

    def definition(self, qualified: str) -> tuple[str, Class | Function | Assign] | None:
        """The module that defines a qualified name, and the statement."""
        ...

    def module(self, name: str) -> Module | None:
        """A file of the project by its module name; `None` where the project has none."""
        ...

    def is_project_module(self, name: str) -> bool:
        """Whether a qualified name is a module or package of the project."""
        ...

    def is_conditional(self, module: str, name: str) -> bool:
        """Whether which statement binds a name is decided at run time."""
        ...

    def is_bound_once(self, qualified: str) -> bool:
        """Whether one statement of its module binds a qualified name, and no other."""
        ...


@dataclass(frozen=True, slots=True)
class Program:
    """Everything a project declares, linked."""

    modules: Mapping[str, Module]
    """By module name."""
    contracts: Mapping[str, Contract] = field(default_factory=dict)
    enumerations: Mapping[str, Enumeration] = field(default_factory=dict)
    capabilities: Mapping[str, Capability] = field(default_factory=dict)
    events: Mapping[str, Event] = field(default_factory=dict)
    signals: Mapping[str, Signal] = field(default_factory=dict)
    errors: Mapping[str, ErrorType] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)
    flows: Mapping[str, Flow] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    resolved: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For each module: the qualified name that each of its module-level names (imported or defined) means."""
    lookup: Lookup | None = field(default=None, compare=False, repr=False)
    worked_out: dict[tuple[str, str], object] = field(default_factory=dict, compare=False, repr=False)
    """Answers that several rules ask for: by question and what it is about, so each is found once."""
    walked: dict[int, tuple[object, tuple[object, ...]]] = field(default_factory=dict, compare=False, repr=False)
    """Pieces of code, by identity, with the nodes below them: many rules look at the same ones."""

    def once(self, question: str, about: str, find: Callable[[], Answer]) -> Answer:
        """The answer to a question about a module, a flow or a capability; found when it is first asked."""
        key = (question, about)
        if key not in self.worked_out:
            self.worked_out[key] = find()
        return cast("Answer", self.worked_out[key])
