"""The business errors a capability can raise: declared, or derived from the `raise` statements it can reach.

The answer is complete or there is none: a reader could not tell a nearly complete list from a complete one.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.nodes import calls_in, nodes
from flowx_compiler.check.reads import qualified
from flowx_compiler.model import Capability, Program
from flowx_compiler.syntax import Attribute, Block, Call, Class, Expr, Function, Name, Raise, Stmt


def error_catalogue(program: Program, capability: Capability) -> tuple[str, ...] | None:
    """Qualified names of the errors, sorted; `None` where a path cannot be followed.

    A call of something outside the project raises no business error of the project. A method called on an object whose
    class is not known is followed if the project has exactly one of that name.
    """
    if capability.errors is not None:
        return tuple(sorted(capability.errors))
    return program.once("errors", capability.name, lambda: _followed(program, capability))


def _followed(program: Program, capability: Capability) -> tuple[str, ...] | None:
    found = _Follower(program).errors(capability.module, capability.function)
    return None if found is None else tuple(sorted(found))


class _Follower:
    def __init__(self, program: Program) -> None:
        self._program = program
        self._followed: set[int] = set()

    def errors(self, module: str, function: Function) -> set[str] | None:
        """The errors below a function; those of a function that is being followed already are counted there."""
        if id(function) in self._followed:
            return set()
        self._followed.add(id(function))
        found: set[str] = set()
        for node in nodes(self._program, function.body):
            match node:
                case Raise(value=None):
                    continue  # what was caught was raised below, and is counted there
                case Raise(value=value) if value is not None:
                    raised = self._raised(module, value)
                    if raised is None:
                        return None
                    found |= raised
                case _:
                    pass
        for call in calls_in(self._program, function.body):
            below = self._called(module, call)
            if below is None:
                return None
            found |= below
        return found

    def _raised(self, module: str, value: Expr) -> set[str] | None:
        target = value.function if isinstance(value, Call) else value
        name = qualified(self._program, module, target)
        if name is None:
            # A built-in exception is a defect and no business error; a variable could be anything.
            is_builtin = isinstance(target, Name) and target.id[:1].isupper()
            return set() if is_builtin else None
        return {name} if name in self._program.errors else set()

    def _called(self, module: str, call: Call) -> set[str] | None:
        name = qualified(self._program, module, call.function)
        if name is not None:
            exact = self._definition(name)
            return set() if exact is None else self.errors(*exact)
        if not isinstance(call.function, Attribute):
            return set()
        candidates = list(self._methods(call.function.attr))
        if len(candidates) == 1:
            return self.errors(*candidates[0])
        return set() if not any(_may_raise(self._program, function) for _, function in candidates) else None

    def _definition(self, name: str) -> tuple[str, Function] | None:
        module, _, short = name.rpartition(".")
        for statement in self._program.modules[module].body if module in self._program.modules else ():
            if isinstance(statement, Function) and statement.name == short:
                return module, statement
            if isinstance(statement, Class) and statement.name == short:
                init = next((item for item in statement.body if _is_named(item, "__init__")), None)
                return (module, init) if isinstance(init, Function) else None
        return None

    def _methods(self, name: str) -> Iterator[tuple[str, Function]]:
        for module in self._program.modules.values():
            for statement in _classes(module.body):
                for item in statement.body:
                    if isinstance(item, Function) and item.name == name:
                        yield module.name, item


def _may_raise(program: Program, function: Function) -> bool:
    return any(isinstance(node, Raise | Call) for node in nodes(program, function.body))


def _is_named(statement: Stmt, name: str) -> bool:
    return isinstance(statement, Function) and statement.name == name


def _classes(body: tuple[Stmt, ...]) -> Iterator[Class]:
    for statement in body:
        match statement:
            case Class():
                yield statement
            case Block(suites=suites):
                for suite in suites:
                    yield from _classes(suite.body)
            case _:
                pass
