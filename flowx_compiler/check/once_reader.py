"""Reads one body: its steps, the calls beside them, and the bodies and helpers it leads to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from flowx_compiler.check.ambient import project_function
from flowx_compiler.check.once_body import AFTER, Arm, OnceStep
from flowx_compiler.check.once_ports import annotation_of
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Place
from flowx_compiler.model import Program
from flowx_compiler.syntax import (
    Argument,
    Assign,
    Attribute,
    Block,
    Call,
    Class,
    Compound,
    Constant,
    Display,
    Expr,
    Function,
    Lambda,
    Name,
    Operation,
    Other,
    Raise,
    Return,
    Stmt,
    walk,
)

_COMPREHENSIONS = frozenset({"list_comprehension", "set_comprehension", "dict_comprehension", "generator"})
Opened: TypeAlias = tuple[str, Function | Lambda, str, Class | None]
"""Module, code, what the context is called there, and the class whose `self` it has."""
Helper: TypeAlias = tuple[str, Function, str, Class | None]


class BodyReader:
    """Finds the steps of one body."""

    def __init__(
        self, program: Program, module: str, context: str, owner: Class | None, requests: Mapping[str, str]
    ) -> None:
        self.file = program.modules[module].file
        self.steps: list[OnceStep] = []
        self.own: list[Expr] = []
        self.inner: list[Opened] = []
        self.helpers: list[Helper] = []
        self._program = program
        self._module = module
        self._context = context
        self._owner = owner
        self._requests = requests
        """The contracts of names that the body was given."""
        self._ports: dict[str, str] = {}
        self._passes = ""

    def read(self, syntax: Function | Lambda) -> None:
        if isinstance(syntax, Lambda):
            self._expression(syntax.body, (), "awaited")
        else:
            self._statements(syntax.body, ())

    # --- statements

    def _statements(self, body: Iterable[Stmt], arms: tuple[Arm, ...]) -> None:
        before = self._passes
        for statement in body:
            arms = self._statement(statement, arms)
            if self._passes and _may_skip_the_rest(statement):
                self._passes = "some"
        self._passes = before

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
        before = self._passes
        if block.kind in ("for", "while"):
            self._passes = "some" if before == "some" or self._is_unordered(block) else "every"
        elif before and (block.kind in ("if", "match") or any(suite.role == "except" for suite in block.suites)):
            self._passes = "some"
        try:
            return self._suites(block, arms)
        finally:
            self._passes = before

    def _suites(self, block: Block, arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
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
        return (*arms, Arm(id(block), AFTER)) if leaves else arms

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
                before, self._passes = self._passes, "some" if self._passes else ""
                self._expression(then, (*arms, Arm(id(expression), 0)), how)
                self._expression(otherwise, (*arms, Arm(id(expression), 1)), how)
                self._passes = before
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
        self.steps.append(OnceStep(kind, name, call, Place(self.file, call.span), arms, how, target, self._passes))

    def _is_unordered(self, block: Block) -> bool:
        """Whether a loop goes over a set, whose order is another one in another process."""
        iterable = block.expressions[0] if block.kind == "for" and block.expressions else None
        match iterable:
            case Display(kind="set") | Compound(kind="set_comprehension"):
                return True
            case Call(function=Name(id=name)):
                return name in ("set", "frozenset")
            case Attribute(value=Name(id=name), attr=member) if name in self._requests:
                contract = self._program.contracts.get(self._requests[name])
                fields = {} if contract is None else {field.name: field.type.name for field in contract.fields}
                return fields.get(member) in ("builtins.set", "builtins.frozenset")
            case _:
                return False

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
                annotation = annotation_of(self._owner, attribute)
                return attribute if annotation is None else annotation
            case Attribute(attr=attribute):
                return attribute
            case Name(id=name):
                return name
            case _:
                return "port"

    def _helper(self, call: Call) -> Helper | None:
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


def _may_skip_the_rest(statement: Stmt) -> bool:
    """Whether a statement of a loop's body may go on with the next pass."""
    return any(
        isinstance(node, Other) and node.kind == "continue"
        for node in walk(statement, frozenset({Function, Lambda, Class}))
    )


def _label(call: Call) -> str | None:
    first = next((item for item in call.arguments if item.keyword is None), None)
    if first is not None and isinstance(first.value, Constant) and isinstance(first.value.value, str):
        return first.value.value
    return None


def _is_name(expression: Expr, name: str) -> bool:
    return isinstance(expression, Name) and expression.id == name
