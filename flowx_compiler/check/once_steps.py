"""The steps inside capabilities: every `ctx.once`, every call through `ctx.durable`, every helper that has some.

A *body* is one function, or the callable of a step: what runs as a unit. Two of its steps can both run unless they are
in exclusive arms of one `if`, `match` or conditional expression, or one of them is in an arm that leaves the body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from flowx_compiler.check.ambient import project_function
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Place
from flowx_compiler.model import Capability, Program
from flowx_compiler.syntax import (
    Argument,
    Assign,
    Attribute,
    Block,
    Call,
    Class,
    Compound,
    Constant,
    Expr,
    Function,
    Lambda,
    Name,
    Operation,
    Raise,
    Return,
    Stmt,
    walk,
)

_COMPREHENSIONS = frozenset({"list_comprehension", "set_comprehension", "dict_comprehension", "generator"})
_AFTER = -1
_Open: TypeAlias = tuple[str, Function | Lambda, str, Class | None]
"""Module, code, what the context is called there, and the class whose `self` it has."""
_Helper: TypeAlias = tuple[str, Function, str, Class | None]


@dataclass(frozen=True, slots=True)
class Arm:
    """Which way a body went at one choice."""

    choice: int
    """Identifies the `if`, `match` or conditional expression."""
    index: int
    """The arm; `-1` for what follows the choice."""
    leaves: bool = False
    """Whether the arm ends in `return` or `raise`, so that nothing after the choice runs."""


@dataclass(frozen=True, slots=True)
class OnceStep:
    """One place where a body has a step, or calls a helper that has some."""

    kind: str
    """`"once"`, `"durable"` or `"helper"`."""
    name: str | None
    """The label, `Port.method`, or the helper's name; `None` for a label that is no literal."""
    call: Call
    place: Place
    arms: tuple[Arm, ...]
    how: str
    """`"awaited"`, `"given on"` (to `gather`, say), `"dropped"`, or `"unnumbered"` (in a lambda or comprehension)."""
    target: Function | None = None
    """The helper."""

    @property
    def identity(self) -> object:
        """What its record is found by in its body."""
        return self.name if self.target is None else id(self.target)

    @property
    def work(self) -> Expr | None:
        """What a `once` is given to call."""
        positional = [argument for argument in self.call.arguments if argument.keyword is None]
        return positional[1].value if len(positional) > 1 else None

    def argument(self, keyword: str) -> Expr | None:
        """A keyword argument's value."""
        return next((item.value for item in self.call.arguments if item.keyword == keyword), None)


@dataclass(frozen=True, slots=True)
class Body:
    """One function, or the callable of a step, that has steps."""

    module: str
    file: str
    syntax: Function | Lambda
    context: str
    """What the context is called in it."""
    steps: tuple[OnceStep, ...]
    own: tuple[Expr, ...] = field(repr=False)
    """Every awaited call of the body itself that is no step, outside the callables of steps."""


def can_both_run(one: OnceStep, other: OnceStep) -> bool:
    """Whether one pass through their body can come to both."""
    arms = {arm.choice: arm for arm in one.arms}
    for arm in other.arms:
        mine = arms.get(arm.choice)
        if mine is None or mine.index == arm.index:
            continue
        if _AFTER not in (mine.index, arm.index) or mine.leaves or arm.leaves:
            return False
    return True


def collisions(body: Body, kind: str) -> Iterator[tuple[OnceStep, OnceStep]]:
    """Each step of a kind that has the identity of an earlier one, which can run as well; the earlier one first."""
    of_kind = [step for step in body.steps if step.kind == kind and step.name is not None]
    for position, step in enumerate(of_kind):
        same = (other for other in of_kind[:position] if other.identity == step.identity and can_both_run(other, step))
        first = next(same, None)
        if first is not None:
            yield first, step


def bodies_with_steps(program: Program) -> tuple[Body, ...]:
    """Every body of every capability, and of the helpers that capabilities pass their context to; each once."""
    return program.once("bodies with steps", "", lambda: tuple(_all_bodies(program)))


def steps_of(program: Program, capability: Capability) -> tuple[Body, ...]:
    """The bodies that a capability comes to: its own, its helpers', and the callables of their steps."""
    return program.once("steps of a capability", capability.name, lambda: tuple(_of_capability(program, capability)))


def labels_of(program: Program, capability: Capability) -> tuple[str, ...]:
    """The labels of the steps that a capability may run, sorted."""
    found = {step.name for body in steps_of(program, capability) for step in body.steps if step.kind == "once"}
    return tuple(sorted(name for name in found if name is not None))


def has_steps(program: Program, capability: Capability) -> bool:
    """Whether a capability has a step, as far as can be seen."""
    return any(body.steps for body in steps_of(program, capability))


def is_outbound(call: Expr) -> bool:
    """Whether a call is of a method of something the capability was given: `self.bank.charge(…)`."""
    match call:
        case Call(function=Attribute(value=Attribute(value=Name(id="self")))):
            return True
        case _:
            return False


def outbound_calls(program: Program, module: str, owner: Class | None, work: Expr) -> tuple[tuple[str, Call], ...]:
    """The calls of things outside that the callable of a step makes, itself or in a method of its class; by file."""
    file = program.modules[module].file
    found: dict[int, Call] = {}
    seen: set[str] = set()
    open_parts: list[object] = [work]
    while open_parts:
        part = open_parts.pop()
        for node in walk(part):
            match node:
                case Call() if is_outbound(node):
                    found[id(node)] = node
                case Attribute(value=Name(id="self"), attr=name) if owner is not None and name not in seen:
                    seen.add(name)
                    open_parts += [item.body for item in owner.body if isinstance(item, Function) and item.name == name]
                case _:
                    pass
    return tuple((file, call) for call in sorted(found.values(), key=lambda call: call.span))


def _all_bodies(program: Program) -> Iterator[Body]:
    seen: set[int] = set()
    for capability in program.capabilities.values():
        for body in steps_of(program, capability):
            if id(body.syntax) not in seen:
                seen.add(id(body.syntax))
                yield body


def _of_capability(program: Program, capability: Capability) -> Iterator[Body]:
    parameters = capability.function.parameters
    if len(parameters) < (2 if capability.owner is None else 3):
        return
    found: list[Body] = []
    seen: set[int] = set()
    open_bodies: list[_Open] = [(capability.module, capability.function, parameters[-1].name, capability.owner)]
    while open_bodies:
        module, syntax, context, owner = open_bodies.pop()
        if id(syntax) in seen:
            continue
        seen.add(id(syntax))
        reader = _BodyReader(program, module, context, owner)
        reader.read(syntax)
        open_bodies += reader.inner
        open_bodies += reader.helpers
        found.append(Body(module, reader.file, syntax, context, tuple(reader.steps), tuple(reader.own)))
    with_steps = _with_steps(found)
    for body in found:
        yield replace(
            body, steps=tuple(step for step in body.steps if step.target is None or id(step.target) in with_steps)
        )


def _with_steps(bodies: Iterable[Body]) -> set[int]:
    """The functions that have a step, themselves or in a helper they call."""
    found: set[int] = set()
    before = -1
    while len(found) != before:
        before = len(found)
        for body in bodies:
            if any(step.target is None or id(step.target) in found for step in body.steps):
                found.add(id(body.syntax))
    return found


class _BodyReader:
    """Finds the steps of one body."""

    def __init__(self, program: Program, module: str, context: str, owner: Class | None) -> None:
        self.file = program.modules[module].file
        self.steps: list[OnceStep] = []
        self.own: list[Expr] = []
        self.inner: list[_Open] = []
        self.helpers: list[_Helper] = []
        self._program = program
        self._module = module
        self._context = context
        self._owner = owner
        self._ports: dict[str, str] = {}

    def read(self, syntax: Function | Lambda) -> None:
        if isinstance(syntax, Lambda):
            self._expression(syntax.body, (), "awaited")
        else:
            self._statements(syntax.body, ())

    # --- statements

    def _statements(self, body: Iterable[Stmt], arms: tuple[Arm, ...]) -> None:
        for statement in body:
            arms = self._statement(statement, arms)

    def _statement(self, statement: Stmt, arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
        """Read a statement; gives the arms of what follows it."""
        match statement:
            case Block():
                return self._block(statement, arms)
            case Assign(targets=targets, value=value) if value is not None:
                port = self._durable_port(value)
                if port is not None:
                    self._ports.update({target.id: port for target in targets if isinstance(target, Name)})
                self._expression(value, arms, "given on")
            case Return(value=value) if value is not None:
                self._expression(value, arms, "given on")
            case Function():
                # A function inside the body closes over the context: its steps are the body's own.
                if not any(parameter.name == self._context for parameter in statement.parameters):
                    self._statements(statement.body, arms)
            case Class():
                pass
            case _:
                for part in statement:
                    self._expression(part, arms, "dropped")
        return arms

    def _block(self, block: Block, arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
        for expression in block.expressions:
            self._expression(expression, arms, "given on")
        if block.kind not in ("if", "match"):
            for suite in block.suites:
                for expression in suite.expressions:
                    self._expression(expression, arms, "given on")
                self._statements(suite.body, arms)
            return arms
        leaves = False
        for index, suite in enumerate(block.suites):
            ends = bool(suite.body) and isinstance(suite.body[-1], Return | Raise)
            leaves = leaves or ends
            inside = (*arms, Arm(id(block), index, leaves=ends))
            for expression in suite.expressions:
                self._expression(expression, inside, "given on")
            self._statements(suite.body, inside)
        return (*arms, Arm(id(block), _AFTER)) if leaves else arms

    # --- expressions

    def _expression(self, expression: object, arms: tuple[Arm, ...], how: str) -> None:
        match expression:
            case Compound(kind="await", parts=parts):
                for part in parts:
                    if isinstance(part, Call) and not self._is_step(part):
                        self.own.append(part)
                    self._expression(part, arms, how if how == "unnumbered" else "awaited")
            case Compound(kind=kind, parts=parts) if kind in _COMPREHENSIONS:
                for part in parts:
                    self._expression(part, arms, "unnumbered")
            case Lambda(body=inner):
                self._expression(inner, arms, "unnumbered")
            case Operation(kind="conditional", operands=(then, test, otherwise)):
                self._expression(test, arms, how)
                self._expression(then, (*arms, Arm(id(expression), 0)), how)
                self._expression(otherwise, (*arms, Arm(id(expression), 1)), how)
            case Call():
                self._call(expression, arms, how)
            case tuple():
                for part in expression:
                    self._expression(part, arms, how)
            case _:
                pass

    def _call(self, call: Call, arms: tuple[Arm, ...], how: str) -> None:
        within = how if how == "unnumbered" else "given on"
        if self._is_context_method(call, "once"):
            self._add("once", _label(call), call, arms, how)
            for argument in call.arguments:
                self._work(argument, arms)
            return
        durable = self._durable_method(call)
        if durable is not None:
            self._add("durable", durable, call, arms, how)
        else:
            helper = self._helper(call)
            if helper is not None:
                self.helpers.append(helper)
                self._add("helper", helper[1].name, call, arms, how, target=helper[1])
        self._expression(call.function, arms, within)
        for argument in call.arguments:
            self._expression(argument.value, arms, within)

    def _work(self, argument: Argument, arms: tuple[Arm, ...]) -> None:
        """The callable of a step is a body of its own; everything else it is given is part of this one."""
        if isinstance(argument.value, Lambda):
            self.inner.append((self._module, argument.value, self._context, self._owner))
        else:
            self._expression(argument.value, arms, "given on")

    def _add(
        self,
        kind: str,
        name: str | None,
        call: Call,
        arms: tuple[Arm, ...],
        how: str,
        target: Function | None = None,
    ) -> None:
        self.steps.append(OnceStep(kind, name, call, Place(self.file, call.span), arms, how, target))

    # --- what is called

    def _is_step(self, call: Call) -> bool:
        is_context = isinstance(call.function, Attribute) and _is_name(call.function.value, self._context)
        return is_context or self._durable_method(call) is not None or self._helper(call) is not None

    def _is_context_method(self, expression: Expr, method: str) -> bool:
        match expression:
            case Call(function=Attribute(value=Name(id=name), attr=attr)):
                return name == self._context and attr == method
            case _:
                return False

    def _durable_port(self, expression: Expr) -> str | None:
        """What `ctx.durable(port)` makes durable."""
        if isinstance(expression, Call) and self._is_context_method(expression, "durable") and expression.arguments:
            given = next((item.value for item in expression.arguments if item.keyword == "name"), None)
            if isinstance(given, Constant) and isinstance(given.value, str):
                return given.value
            return self._port_name(expression.arguments[0].value)
        return None

    def _durable_method(self, call: Call) -> str | None:
        match call.function:
            case Attribute(value=Name(id=name), attr=method) if name in self._ports:
                return f"{self._ports[name]}.{method}"
            case Attribute(value=Call() as made, attr=method):
                port = self._durable_port(made)
                return None if port is None else f"{port}.{method}"
            case _:
                return None

    def _port_name(self, port: Expr) -> str:
        """The type that a port is declared with, where its class says one; else the port as it is spelt."""
        match port:
            case Attribute(value=Name(id="self"), attr=attribute) if self._owner is not None:
                annotation = _annotation_of(self._owner, attribute)
                return attribute if annotation is None else annotation
            case Attribute(attr=attribute):
                return attribute
            case Name(id=name):
                return name
            case _:
                return "port"

    def _helper(self, call: Call) -> _Helper | None:
        """The function of the project that the context is passed to, and what it calls it."""
        position = next((n for n, item in enumerate(call.arguments) if _is_name(item.value, self._context)), None)
        if position is None:
            return None
        home: str = self._module
        function: Function | None = None
        owner: Class | None = None
        skipped = 0
        match call.function:
            case Attribute(value=Name(id="self"), attr=method) if self._owner is not None:
                found = next(
                    (item for item in self._owner.body if isinstance(item, Function) and item.name == method), None
                )
                function, owner, skipped = found, self._owner, 1
            case _:
                name = qualified(self._program, self._module, call.function)
                target = None if name is None else project_function(self._program, name)
                if target is not None:
                    home, function = target
        if function is None:
            return None
        keyword = call.arguments[position].keyword
        if keyword is not None:
            return home, function, keyword, owner
        names = [parameter.name for parameter in function.parameters][skipped:]
        return (home, function, names[position], owner) if position < len(names) else None


def _label(call: Call) -> str | None:
    first = next((item for item in call.arguments if item.keyword is None), None)
    if first is not None and isinstance(first.value, Constant) and isinstance(first.value.value, str):
        return first.value.value
    return None


def _is_name(expression: Expr, name: str) -> bool:
    return isinstance(expression, Name) and expression.id == name


def _annotation_of(owner: Class, attribute: str) -> str | None:
    """The last word of the annotation that an attribute, or the constructor's parameter it is set from, has."""
    for statement in owner.body:
        match statement:
            case Assign(targets=(Name(id=name),), annotation=annotation) if annotation is not None:
                if name == attribute:
                    return _last_word(annotation)
            case Function(name="__init__", parameters=parameters, body=body):
                annotations = {parameter.name: parameter.annotation for parameter in parameters}
                for inner in body:
                    match inner:
                        case Assign(targets=(Attribute(value=Name(id="self"), attr=name),), value=Name(id=given)):
                            annotation = annotations.get(given)
                            if name == attribute and annotation is not None:
                                return _last_word(annotation)
                        case _:
                            pass
            case _:
                pass
    return None


def _last_word(annotation: Expr) -> str | None:
    match annotation:
        case Name(id=name):
            return name
        case Attribute(attr=name):
            return name
        case Constant(value=str() as text) if text.isidentifier():
            return text
        case _:
            return None
