"""What a builder call is given: capabilities, contracts, durations, functions. Each is understood here or noted."""

from __future__ import annotations

from dataclasses import dataclass

from flowx_compiler.findings import Place
from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.backoffs import is_backoff
from flowx_compiler.link.capabilities import capability, is_declared
from flowx_compiler.link.contracts import class_of, error_type, event, signal
from flowx_compiler.link.durations import read_duration
from flowx_compiler.link.free_names import free_names, free_paths, is_generator, root_of
from flowx_compiler.link.project import Project
from flowx_compiler.link.unresolved import note_unbound, note_unresolved
from flowx_compiler.model import (
    BackoffValue,
    CapabilityReference,
    DataFunction,
    DurationValue,
    ErrorType,
    Event,
    Label,
    Policy,
    Signal,
    Value,
)
from flowx_compiler.syntax import Attribute, Call, Compound, Constant, Expr, Function, Lambda, Name, walk


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where an argument is written: its module, and the functions that are local to `define` there."""

    module: str
    functions: dict[str, Function]
    builders: frozenset[str]
    """Names of the builder parameters around it."""
    refused: frozenset[str] = frozenset()
    """Names bound by statements that were refused already: using one says nothing new."""


class ValueReader:
    """Reads arguments for one flow."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def capability(self, around: Surroundings, expression: Expr, call: str) -> CapabilityReference | None:
        """A capability named where one is meant."""
        place = self._project.place(around.module, expression.span)
        qualified = self._named(around, expression, f"`{call}`", "a capability")
        if qualified is None:
            return None
        found = capability(self._project, qualified)
        if found is not None:
            return CapabilityReference(found, self._project.constants.value(around.module, expression))
        if not is_declared(self._project, qualified):
            short = qualified.rpartition(".")[2]
            self._project.problems.add(
                ids.NOT_A_CAPABILITY,
                place,
                f"`{call}` is given {short}, which is not a capability",
                f"decorate {short} with `@capability(…)`, or name a class or function that is",
            )
        return None

    def event(self, around: Surroundings, expression: Expr, call: str) -> Event | None:
        """An event contract."""
        qualified = self._named(around, expression, f"`{call}`", "an event contract")
        found = None if qualified is None else event(self._project, qualified)
        if qualified is not None and found is None:
            self._refuse(around, expression, ids.NOT_AN_EVENT, call, "an event", '`@event("…", version="…")`')
        return found

    def signal(self, around: Surroundings, expression: Expr, call: str) -> Signal | None:
        """A signal contract."""
        qualified = self._named(around, expression, f"`{call}`", "a signal contract")
        found = None if qualified is None else signal(self._project, qualified)
        if qualified is not None and found is None:
            self._refuse(around, expression, ids.NOT_A_SIGNAL, call, "a signal", '`@signal("…")`')
        return found

    def error(self, around: Surroundings, expression: Expr) -> ErrorType | None:
        """An error class."""
        qualified = self._named(around, expression, "`fail`", "an error class")
        found = None if qualified is None else error_type(self._project, qualified)
        if qualified is not None and (found is None or not found.code):
            short = qualified.rpartition(".")[2]
            self._project.problems.add(
                ids.NOT_AN_ERROR,
                self._project.place(around.module, expression.span),
                f"`fail` is given {short}, which is not a `FlowError` with a code",
                f'write `class {short}(FlowError, code="…", category=Category.…)`',
            )
            return None
        return found

    def flow(self, around: Surroundings, expression: Expr) -> str | None:
        """The qualified name of a flow class."""
        qualified = self._named(around, expression, "`sub_flow`", "a flow class")
        if qualified is None:
            return None
        found = class_of(self._project, qualified)
        if found is None or not self._project.decorator(found[0], found[1].decorators, "flow"):
            self._refuse(around, expression, ids.NOT_A_FLOW, "sub_flow", "a flow", '`@flow("…", version="…")`')
            return None
        return qualified

    def policy(self, around: Surroundings, expression: Expr) -> Policy | None:
        """A policy set constant."""
        if not self._resolves(around, expression):
            return None
        found = self._project.constants.policy(around.module, expression)
        if found is None:
            self._project.problems.add(
                ids.NOT_A_POLICY,
                self._project.place(around.module, expression.span),
                "`with_policy` is not given the name of a `PolicySet` constant",
                'write `POLICY: Final = PolicySet("…", …)` at module level and name it',
            )
        return found

    def value(self, around: Surroundings, expression: Expr) -> Value:
        """The expression as the plan will carry it."""
        return self._project.constants.value(around.module, expression)

    def label(self, around: Surroundings, expression: Expr) -> Label | None:
        """A step's name."""
        place = self._project.place(around.module, expression.span)
        if isinstance(expression, Constant) and isinstance(expression.value, str) and expression.value.strip():
            return Label(expression.value, place)
        self._project.problems.add(
            ids.BAD_LABEL, place, "a step's name is not a text written in place", 'write `.named("a-name")`'
        )
        return None

    def duration(self, around: Surroundings, expression: Expr, call: str, parameter: str) -> DurationValue | None:
        """A duration; a number is none, and one that does not fold is left to rule 1054."""
        if not self._resolves(around, expression):
            return None
        return read_duration(self._project, around.module, expression, call, parameter)

    def backoff(self, around: Surroundings, expression: Expr, call: str) -> BackoffValue | None:
        """A backoff."""
        if not self._resolves(around, expression) or not is_backoff(self._project, around.module, expression, call):
            return None
        folded = self._project.constants.backoff(around.module, expression)
        return BackoffValue(self.value(around, expression), folded)

    def data_function(self, around: Surroundings, expression: Expr, call: str) -> DataFunction | None:
        """A lambda or named function of exactly one context parameter."""
        place = self._project.place(around.module, expression.span)
        if isinstance(expression, Lambda):
            return self._checked_function(around, around.module, expression, None, place, call)
        if isinstance(expression, Name) and expression.id in around.functions:
            return self._checked_function(around, around.module, around.functions[expression.id], None, place, call)
        qualified = self._project.names.resolve_expression(around.module, expression)
        found = None if qualified is None else self._project.names.definition(qualified)
        if qualified is not None and found is not None and isinstance(found[1], Function):
            return self._checked_function(around, found[0], found[1], qualified, place, call)
        if self._resolves(around, expression):
            self._project.problems.add(
                ids.NOT_CALLABLE,
                place,
                f"`{call}` is given a value where it takes a function of the context",
                "write `lambda ctx: …`, or name a function of one parameter `ctx: FlowContext[…]`",
            )
        return None

    def _checked_function(
        self,
        around: Surroundings,
        module: str,
        syntax: Lambda | Function,
        qualified: str | None,
        place: Place,
        call: str,
    ) -> DataFunction | None:
        at = self._project.place(module, syntax.span if isinstance(syntax, Lambda) else syntax.name_span)
        parameters = syntax.parameters
        is_one = len(parameters) == 1 and parameters[0].kind in ("positional", "positional_only")
        if not is_one or parameters[0].default is not None:
            self._project.problems.add(
                ids.BAD_PARAMETERS,
                at,
                f"the function given to `{call}` does not take exactly one parameter, the context",
                "write `lambda ctx: …`",
            )
            return None
        if isinstance(syntax, Function) and syntax.is_async:
            self._project.problems.add(
                ids.ASYNC_FUNCTION,
                at,
                f"`{syntax.name}`, given to `{call}`, is `async`: its answer is a coroutine, which is always true",
                "make it a plain `def`; do asynchronous work in a step",
            )
            return None
        if isinstance(syntax, Function | Lambda) and is_generator(syntax):
            name = f"`{syntax.name}`" if isinstance(syntax, Function) else "the lambda"
            self._project.problems.add(
                ids.ASYNC_FUNCTION,
                at,
                f"{name}, given to `{call}`, yields: its answer is a generator, which is always true",
                "return the value",
            )
            return None
        if any(isinstance(node, Compound) and node.kind == "await" for node in walk(syntax)):
            self._project.problems.add(
                ids.ASYNC_FUNCTION,
                at,
                f"the function given to `{call}` awaits, and is called without an event loop",
                "do asynchronous work in a step, and use its result",
            )
            return None
        # A named function is imported from its own module, where it sees nothing of the definition around the call.
        home = around if qualified is None else Surroundings(module, {}, frozenset())
        if not self._free_names_resolve(home, syntax):
            return None
        return DataFunction(module, syntax, parameters[0].name, qualified, place)

    def _free_names_resolve(self, around: Surroundings, syntax: Lambda | Function) -> bool:
        resolves = True
        for name, span in free_names(syntax):
            place = self._project.place(around.module, span)
            if name in around.builders or name in around.functions:
                resolves = False
                what = "the builder" if name in around.builders else "a function of define"
                self._project.problems.add(
                    ids.CAPTURED_LOCAL,
                    place,
                    f"`{name}` is {what}: a lifted function cannot reach it",
                    "use only the context and module-level names",
                )
            elif name in around.refused:
                resolves = False
            elif self._project.names.resolve(around.module, name) is None:
                resolves = False
                note_unbound(self._project, around.module, name, span)
        for path in free_paths(syntax):
            root = root_of(path)
            if root.id not in around.functions | dict.fromkeys((*around.builders, *around.refused)):
                is_unbound = self._project.names.resolve(around.module, root.id) is None
                if not is_unbound and note_unresolved(self._project, around.module, path):
                    resolves = False
        return resolves

    def _named(self, around: Surroundings, expression: Expr, call: str, what: str) -> str | None:
        place = self._project.place(around.module, expression.span)
        if isinstance(expression, Call):
            owner = self._project.names.resolve_expression(around.module, expression.function)
            name = "it" if owner is None else owner.rpartition(".")[2]
            self._project.problems.add(
                ids.INSTANCE_FOR_CLASS,
                place,
                f"{call} takes {what} by name, and is given a call",
                f"write {name} without the parentheses",
            )
            return None
        if isinstance(expression, Name) and expression.id in around.functions | dict.fromkeys(around.builders):
            self._project.problems.add(
                ids.CAPTURED_LOCAL,
                place,
                f"{call} takes {what}, and is given `{expression.id}`, which is local to define",
                "declare it at module level",
            )
            return None
        if isinstance(expression, Name) and expression.id in around.refused:
            return None
        qualified = self._project.constants.named(around.module, expression)
        if qualified is None:
            if self._resolves(around, expression):
                message = f"{call} takes {what} by name, and is given an expression"
                self._project.problems.add(ids.INSTANCE_FOR_CLASS, place, message, f"name {what}")
            return None
        root: Expr = expression
        while isinstance(root, Attribute):
            root = root.value
        if isinstance(root, Name) and self._project.names.is_conditional(around.module, root.id):
            message = f"what `{root.id}` means is decided at run time: it is bound in several branches"
            self._project.problems.add(ids.CONDITIONAL_NAME, place, message, "bind it once")
            return None
        return qualified

    def _resolves(self, around: Surroundings, expression: Expr) -> bool:
        resolves = True
        code = Lambda((), expression, expression.span)
        for name, span in free_names(code):
            if name in around.refused:
                resolves = False
            elif name not in around.functions and self._project.names.resolve(around.module, name) is None:
                resolves = False
                note_unbound(self._project, around.module, name, span)
        for path in free_paths(code):
            is_bound = self._project.names.resolve(around.module, root_of(path).id) is not None
            if resolves and is_bound and note_unresolved(self._project, around.module, path):
                resolves = False
        return resolves

    def _refuse(self, around: Surroundings, expression: Expr, id: str, call: str, what: str, mark: str) -> None:
        name = (self._project.names.resolve_expression(around.module, expression) or "it").rpartition(".")[2]
        self._project.problems.add(
            id,
            self._project.place(around.module, expression.span),
            f"`{call}` is given {name}, which is not {what}",
            f"decorate {name} with {mark}",
        )
