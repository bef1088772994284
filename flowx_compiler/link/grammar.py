"""The body of a `define`, or of a block, to a tree of constructs: exactly what the language allows, nothing skipped."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from flowx_compiler.findings import Place
from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.arguments import bind
from flowx_compiler.link.builder_calls import (
    CALL_NAMES,
    CALLS,
    STEP_DETAILS,
    Link,
    Open,
    SwitchDraft,
    dotted,
    root_name,
    snake,
    unchain,
)
from flowx_compiler.link.capabilities import is_declared
from flowx_compiler.link.constants import NOT_CONSTANT
from flowx_compiler.link.expression_types import TypeReader
from flowx_compiler.link.free_names import bound_in, names_in
from flowx_compiler.link.placement import misplaced
from flowx_compiler.link.project import RUNTIME, Given, Project
from flowx_compiler.link.statements import describe, is_nothing, local_functions
from flowx_compiler.link.types import UNKNOWN, element, plain
from flowx_compiler.link.unresolved import note_unresolved
from flowx_compiler.link.values import Surroundings, ValueReader
from flowx_compiler.model import (
    AwaitSignal,
    Case,
    Construct,
    DataFunction,
    Delay,
    Emit,
    Fail,
    ForEach,
    MergeRule,
    Parallel,
    Poll,
    Sequence,
    Step,
    SubFlow,
    Switch,
    TypeExpr,
    When,
)
from flowx_compiler.syntax import (
    Attribute,
    Compound,
    Constant,
    Expr,
    ExprStatement,
    Function,
    Lambda,
    Name,
    Other,
    Return,
    Stmt,
)

_DEEPEST_BLOCK = 60
_PLAIN_VALUES = frozenset({"builtins.str", "builtins.int", "builtins.bool", "builtins.bytes"})


@dataclass(slots=True)
class Body:
    """What a flow's own body gives besides its constructs."""

    returns: DataFunction | None = None
    on_failure: list[Emit] = field(default_factory=list)


class Grammar:
    """Reads the blocks of one flow."""

    def __init__(self, project: Project, values: ValueReader, input: TypeExpr) -> None:
        self._project = project
        self._values = values
        self._input = input
        self.body = Body()
        self.is_sound = True
        self._reading: list[str] = []

    def read_define(self, module: str, define: Function) -> Sequence:
        """The tree of a flow's own body."""
        functions = local_functions(define.body)
        refused = bound_in(define.body) - functions.keys()
        around = Surroundings(module, functions, frozenset({define.parameters[1].name}), refused)
        place = self._project.place(module, define.name_span)
        return self._statements(around, define.parameters[1].name, define.body, place, is_top=True)

    # --- statements and chains ---------------------------------------------------------------

    def _statements(
        self, around: Surroundings, builder: str, body: tuple[Stmt, ...], place: Place, *, is_top: bool
    ) -> Sequence:
        reader = _BlockReader(self, around, builder, place, is_top=is_top)
        last = len(body) - 1
        for number, statement in enumerate(body):
            match statement:
                case ExprStatement(value=Constant(value=str())) if number == 0:
                    continue
                case ExprStatement(value=Compound(kind="ellipsis")):
                    continue
                case ExprStatement(value=value) | Return(value=value) if value is not None and (
                    isinstance(statement, ExprStatement) or number == last
                ):
                    reader.read_chain(value)
                case Function():
                    self._local_function(around, statement, body)
                case Other(kind="pass") | Return(value=None):
                    continue
                case _:
                    self._refuse_statement(around, statement)
        return reader.finish()

    def _local_function(self, around: Surroundings, function: Function, body: tuple[Stmt, ...]) -> None:
        """A function of define is read where a call names it: one that nothing names holds steps that would vanish."""
        named = [other for other in body if isinstance(other, Function) and other.name == function.name]
        if function is not named[0]:
            self.problem(
                ids.STATEMENT_IN_DEFINE,
                self._project.place(around.module, function.name_span),
                f"a second function is called `{function.name}`: which of them a call means depends on where it stands",
                "give each a name of its own",
            )
        if not any(other is not function and names_in(other, function.name) for other in body):
            self.problem(
                ids.STATEMENT_IN_DEFINE,
                self._project.place(around.module, function.name_span),
                f"nothing uses the function `{function.name}`: what it holds is in no plan",
                "give it to a block or data argument, or take it away",
            )

    def _refuse_statement(self, around: Surroundings, statement: Stmt) -> None:
        what, instead = describe(statement)
        self.problem(
            ids.STATEMENT_IN_DEFINE,
            self._project.place(around.module, statement.span),
            f"{what} in `define`: it is read, never run",
            instead,
        )

    def problem(self, id: str, place: Place, message: str, help: str, *, label: str = "") -> None:
        """Note a problem of this flow."""
        self.is_sound = False
        self._project.problems.add(id, place, message, help, label=label)

    def block(self, around: Surroundings, expression: Expr, call: str) -> Sequence | None:
        """A block argument: a lambda, or a function of exactly one builder parameter."""
        place = self._project.place(around.module, expression.span)
        if isinstance(expression, Lambda):
            parameter = self._builder_parameter(around.module, expression, place, call)
            if parameter is None:
                return None
            if is_nothing(expression.body, parameter):
                return self._not_empty(Sequence((), place), place, call)
            inner = replace(around, builders=around.builders | {parameter})
            reader = _BlockReader(self, inner, parameter, place, is_top=False)
            reader.read_chain(expression.body)
            return self._not_empty(reader.finish(), place, call)
        if isinstance(expression, Name) and expression.id in around.functions:
            return self._block_function(around, around.module, around.functions[expression.id], place, call)
        qualified = self._project.names.resolve_expression(around.module, expression)
        found = None if qualified is None else self._project.names.definition(qualified)
        if found is not None and isinstance(found[1], Function):
            return self._block_function(Surroundings(found[0], {}, frozenset()), found[0], found[1], place, call)
        root = root_name(expression)
        if root in around.refused or (
            root is not None
            and root not in around.builders
            and note_unresolved(self._project, around.module, expression)
        ):
            self.is_sound = False
        else:
            self.problem(
                ids.NOT_A_BLOCK,
                place,
                f"`{call}` takes a block, and is given something else",
                "write `lambda b: b.step(…)`, or name a function of exactly one builder parameter",
            )
        return None

    def _block_function(
        self, around: Surroundings, module: str, function: Function, place: Place, call: str
    ) -> Sequence | None:
        parameter = self._builder_parameter(module, function, place, call)
        if parameter is None:
            return None
        key = f"{module}.{function.name}:{function.span}"
        if function.decorators:
            message = f"block `{function.name}` is decorated: a block is read, never run"
            self.problem(ids.NOT_A_BLOCK, place, message, "take the decorator away")
            return None
        if key in self._reading or len(self._reading) > _DEEPEST_BLOCK:
            message = f"block `{function.name}` contains itself"
            self.problem(ids.NOT_A_BLOCK, place, message, "use `for_each` or `poll_until` to repeat")
            return None
        self._reading.append(key)
        functions = local_functions(function.body)
        inner = Surroundings(
            module,
            around.functions | functions,
            around.builders | {parameter},
            around.refused | (bound_in(function.body) - functions.keys()),
        )
        sequence = self._statements(inner, parameter, function.body, place, is_top=False)
        self._reading.pop()
        return self._not_empty(sequence, place, call)

    def _builder_parameter(self, module: str, function: Lambda | Function, place: Place, call: str) -> str | None:
        parameters = function.parameters
        if (
            len(parameters) == 1
            and parameters[0].kind in ("positional", "positional_only")
            and parameters[0].default is None
            and not (isinstance(function, Function) and function.is_async)
        ):
            return parameters[0].name
        self.problem(
            ids.NOT_A_BLOCK,
            place,
            f"the block given to `{call}` does not take exactly one parameter, its builder",
            "write `lambda b: b.step(…)`, or name a plain function of one builder parameter",
        )
        return None

    def _not_empty(self, sequence: Sequence, place: Place, call: str) -> Sequence:
        if not sequence.constructs and self.is_sound:
            # Only a warning, so it does not make the flow unsound.
            self._project.problems.add(
                ids.EMPTY_BLOCK, place, f"the block given to `{call}` does nothing", "take it away"
            )
        return sequence

    # --- the constructs ----------------------------------------------------------------------

    def given(self, around: Surroundings, link: Link) -> Given | None:
        """The arguments of a call, or `None` where they do not fit."""
        place = self._project.place(around.module, link.span)
        given = bind(self._project, around.module, link.call, link.name, CALLS[link.name], place)
        if given is None:
            self.is_sound = False
        return given

    def checked(self, *parts: object) -> bool:
        """Whether every part was understood; a flow with a part that was not is unsound."""
        if any(part is None for part in parts):
            self.is_sound = False
            return False
        return True

    def construct(self, around: Surroundings, link: Link) -> Open:
        """The construct that a call which starts one means; its name where it is not understood."""
        place = self._project.place(around.module, link.span)
        if link.name == "parallel":
            return self._parallel(around, link, place) or link.name
        given = self.given(around, link)
        if given is None:
            return link.name
        values = self._values
        arguments = {name: argument.value for name, argument in given.by_name.items()}
        made: Open = None
        match link.name:
            case "step":
                reference = values.capability(around, arguments["capability"], "step")
                request = None
                if "request" in arguments:
                    given_request = arguments["request"]
                    if not (isinstance(given_request, Constant) and given_request.value is None):
                        request = values.data_function(around, given_request, "step")
                        self.checked(request)
                if self.checked(reference) and reference is not None:
                    made = Step(reference, request, None, None, None, place)
            case "when":
                predicate = values.data_function(around, arguments["predicate"], "when")
                block = self.block(around, arguments["block"], "when")
                if self.checked(predicate, block) and predicate is not None and block is not None:
                    made = When(predicate, block, None, place)
            case "switch":
                selector = values.data_function(around, arguments["selector"], "switch")
                self.checked(selector)
                made = SwitchDraft(selector, place, UNKNOWN if selector is None else plain(self._answer(selector)))
            case "for_each":
                made = self._for_each(around, arguments, place)
            case "sub_flow":
                made = self._sub_flow(around, arguments, place)
            case "await_signal":
                signal = values.signal(around, arguments["signal"], "await_signal")
                timeout = values.duration(around, arguments["timeout"], "await_signal", "timeout")
                if self.checked(signal, timeout) and signal is not None and timeout is not None:
                    spelt = values.value(around, arguments["signal"])
                    made = AwaitSignal(signal, spelt, timeout, None, place)
            case "delay":
                duration = values.duration(around, arguments["duration"], "delay", "duration")
                if self.checked(duration) and duration is not None:
                    made = Delay(duration, place)
            case "poll_until":
                reference = values.capability(around, arguments["capability"], "poll_until")
                until = values.data_function(around, arguments["until"], "poll_until")
                interval = values.backoff(around, arguments["interval"], "poll_until")
                timeout = values.duration(around, arguments["timeout"], "poll_until", "timeout")
                if self.checked(reference, until, interval, timeout):
                    assert reference is not None
                    assert until is not None
                    assert interval is not None
                    assert timeout is not None
                    made = Poll(reference, until, interval, timeout, None, None, None, place)
            case "emit" | "emit_on_failure":
                event = values.event(around, arguments["event"], link.name)
                payload = values.data_function(around, arguments["payload"], link.name)
                if self.checked(event, payload) and event is not None and payload is not None:
                    spelt = values.value(around, arguments["event"])
                    made = Emit(event, spelt, payload, link.name == "emit_on_failure", place)
            case _:
                error = values.error(around, arguments["error"])
                if self.checked(error) and error is not None:
                    made = Fail(error, values.value(around, arguments["error"]), place)
        return link.name if made is None else made

    def _for_each(self, around: Surroundings, arguments: dict[str, Expr], place: Place) -> ForEach | None:
        selector = self._values.data_function(around, arguments["selector"], "for_each")
        block = self.block(around, arguments["block"], "for_each")
        concurrency = self._number(around, arguments.get("max_concurrency"), "max_concurrency")
        keep_going = self._flag(around, arguments.get("continue_on_error"), "continue_on_error")
        if not self.checked(selector, block, concurrency, keep_going):
            return None
        assert selector is not None
        assert block is not None
        assert concurrency is not None
        item = self._item(selector)
        if item == UNKNOWN:
            self.problem(
                ids.ITEM_UNKNOWN,
                selector.place,
                "the elements of this `for_each` have no type the compiler can tell, or are no materialised sequence",
                "give a field annotated `tuple[Item, ...]` or `list[Item]`, or a function annotated to return one",
            )
            return None
        return ForEach(selector, item, block, concurrency, keep_going is True, place)

    def _item(self, selector: DataFunction) -> TypeExpr:
        return plain(element(self._answer(selector)))

    def _answer(self, function: DataFunction) -> TypeExpr:
        """What a data function gives, as far as annotations tell."""
        if isinstance(function.syntax, Function):
            return self._project.types.resolve(function.module, function.syntax.returns)
        reader = TypeReader(self._project, function.module, function.parameter, self._input)
        return reader.type_of(function.syntax.body)

    def _number(self, around: Surroundings, expression: Expr | None, parameter: str) -> int | None:
        if expression is None:
            return 1
        value = self._project.constants.literal(around.module, expression)
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 64:
            return value
        place = self._project.place(around.module, expression.span)
        shown = f" {value}" if isinstance(value, int) else ""
        self.problem(ids.BAD_NUMBER, place, f"`{parameter}`{shown} is not a number from 1 to 64", "write one")
        return None

    def _flag(self, around: Surroundings, expression: Expr | None, parameter: str) -> bool | None:
        if expression is None:
            return False
        value = self._project.constants.literal(around.module, expression)
        if isinstance(value, bool):
            return value
        place = self._project.place(around.module, expression.span)
        self.problem(ids.NOT_IN_SET, place, f"`{parameter}` is not `True` or `False`", "write one of them")
        return None

    def _sub_flow(self, around: Surroundings, arguments: dict[str, Expr], place: Place) -> SubFlow | None:
        child = self._values.flow(around, arguments["flow"])
        request = self._values.data_function(around, arguments["request"], "sub_flow")
        is_detached: bool | None = False
        if "mode" in arguments:
            match self._project.constants.literal(around.module, arguments["mode"]):
                case ("enum", owner, "INLINE" | "DETACHED" as mode) if owner == f"{RUNTIME}SubFlowMode":
                    is_detached = mode == "DETACHED"
                case _:
                    is_detached = None
                    at = self._project.place(around.module, arguments["mode"].span)
                    advice = "write `SubFlowMode.INLINE` or `SubFlowMode.DETACHED`"
                    self.problem(ids.NOT_IN_SET, at, "`mode` is not a `SubFlowMode`", advice)
        if not self.checked(child, request, is_detached):
            return None
        assert child is not None
        assert request is not None
        return SubFlow(child, request, is_detached is True, None, self._values.value(around, arguments["flow"]), place)

    def _parallel(self, around: Surroundings, link: Link, place: Place) -> Parallel | None:
        branches: list[Sequence | None] = []
        merge: MergeRule | None = MergeRule("all_must_succeed", None, place)
        fits = True
        for argument in link.call.arguments:
            at = self._project.place(around.module, argument.span)
            if argument.star:
                self.problem(
                    ids.STARRED_ARGUMENT,
                    at,
                    f"`parallel` is given `{argument.star}` arguments",
                    "write the branches out",
                )
                fits = False
            elif argument.keyword == "merge":
                merge = self._project.constants.merge(around.module, argument.value, at)
                if merge is None:
                    advice = "write `Merge.ALL_MUST_SUCCEED`, `ALL_SETTLED`, `FIRST_SUCCESS` or `Merge.quorum(n)`"
                    self.problem(ids.NOT_IN_SET, at, "`merge` is not a `Merge` the compiler can read", advice)
            elif argument.keyword is not None:
                message = f"`parallel` has no argument `{argument.keyword}`"
                self.problem(ids.UNKNOWN_ARGUMENT, at, message, "it takes branches, and `merge=`")
                fits = False
            else:
                branches.append(self._branch(around, argument.value, at))
        if not branches and fits:
            self.problem(ids.MISSING_ARGUMENT, place, "`parallel` has no branches", "give it capabilities or blocks")
            return None
        if not fits or not self.checked(merge, *branches) or merge is None:
            return None
        if merge.needed is not None and not 1 <= merge.needed <= len(branches):
            self.problem(
                ids.BAD_QUORUM,
                merge.place,
                f"a quorum of {merge.needed} of {len(branches)} branches can never be met",
                f"write a number from 1 to {len(branches)}",
            )
            return None
        return Parallel(tuple(branch for branch in branches if branch is not None), merge, place)

    def _branch(self, around: Surroundings, expression: Expr, place: Place) -> Sequence | None:
        qualified = self._project.names.resolve_expression(around.module, expression)
        is_local = isinstance(expression, Name) and expression.id in around.functions
        if qualified is not None and not is_local and is_declared(self._project, qualified):
            reference = self._values.capability(around, expression, "parallel")
            if reference is None:
                return None
            return Sequence((Step(reference, None, None, None, None, place),), place)
        return self.block(around, expression, "parallel")

    # --- details of the construct before -----------------------------------------------------

    def detail(self, around: Surroundings, link: Link, before: Open) -> Open:
        """The construct before with one more detail; calls that do not belong there are noted."""
        place = self._project.place(around.module, link.span)
        wrong = misplaced(link.name, before)
        if wrong is not None:
            if wrong.id is not None:
                self.problem(wrong.id, place, wrong.message, wrong.help)
            return before
        given = self.given(around, link)
        if given is None:
            return before
        arguments = {name: argument.value for name, argument in given.by_name.items()}
        match before:
            case Step():
                return self._step_detail(around, link.name, arguments, before, place)
            case SubFlow():
                return replace(before, label=self._values.label(around, arguments["label"]))
            case When():
                return replace(before, otherwise=self.block(around, arguments["block"], "otherwise"))
            case AwaitSignal():
                return replace(before, on_timeout=self.block(around, arguments["block"], "on_timeout"))
            case Poll() if link.name == "or_signal":
                signal = self._values.signal(around, arguments["signal"], "or_signal")
                self.checked(signal)
                return replace(before, signal=signal, signal_value=self._values.value(around, arguments["signal"]))
            case Poll():
                return replace(before, on_timeout=self.block(around, arguments["block"], "on_timeout"))
            case SwitchDraft():
                self._case(around, link.name, arguments, before, place)
                return before
            case _:
                return before

    def _step_detail(
        self, around: Surroundings, name: str, arguments: dict[str, Expr], step: Step, place: Place
    ) -> Step:
        if name == "compensate_with":
            undo = self._values.capability(around, arguments["capability"], name)
            self.checked(undo)
            return replace(step, compensation=undo)
        if name == "named":
            label = self._values.label(around, arguments["label"])
            self.checked(label)
            return replace(step, label=label)
        policy = self._values.policy(around, arguments["policy"])
        if not self.checked(policy) or policy is None:
            return step
        from flowx_compiler.model import PolicyReference

        return replace(step, policy=PolicyReference(policy, self._values.value(around, arguments["policy"]), place))

    def _case(
        self, around: Surroundings, name: str, arguments: dict[str, Expr], switch: SwitchDraft, place: Place
    ) -> None:
        block = self.block(around, arguments["block"], name)
        if not self.checked(block) or block is None:
            return
        if name == "default":
            switch.default = block
            return
        value = arguments["value"]
        at = self._project.place(around.module, value.span)
        folded = self._project.constants.literal(around.module, value)
        if not self._is_case_value(folded):
            self.problem(
                ids.BAD_CASE_VALUE,
                at,
                "this `case` value is not a constant to compare with",
                "write a literal or an enum member",
            )
            return
        if not self._can_match(switch.type, folded):
            self.problem(
                ids.BAD_CASE_VALUE,
                at,
                f"this `case` can never match: the selector gives `{switch.type}`",
                f"write a `{switch.type}`" if switch.type.arguments else self._wanted(switch.type),
            )
            return
        if any(_same(case.folded, folded) for case in switch.cases):
            self._project.problems.add(
                ids.DUPLICATE_CASE, at, "this value has a `case` already: the first match wins", "take this one away"
            )
        switch.cases.append(Case(self._values.value(around, value), folded, block, place))

    def _is_case_value(self, folded: object) -> bool:
        from flowx_compiler.link.contracts import enumeration

        match folded:
            case ("enum", str(owner), str(member)):
                found = enumeration(self._project, owner)
                return found is not None and member in found.members
            case _:
                return folded is not NOT_CONSTANT and not isinstance(folded, float | tuple)

    def _can_match(self, type_: TypeExpr, folded: object) -> bool:
        """Whether a selector of that type can give the value: `True` is no `int` here, text is no member."""
        from flowx_compiler.link.contracts import enumeration

        type_ = plain(type_)
        if type_.name == "|":
            return any(self._can_match(member, folded) for member in type_.arguments)
        if type_.name == "typing.Literal":
            return any(_same(literal, folded) for literal in type_.literals)
        if enumeration(self._project, type_.name) is not None:
            return isinstance(folded, tuple) and folded[1] == type_.name
        if type_.name == "None":
            return folded is None
        if type_.name in _PLAIN_VALUES:
            return type(folded).__name__ == type_.name.removeprefix("builtins.")
        return True

    def _wanted(self, type_: TypeExpr) -> str:
        from flowx_compiler.link.contracts import enumeration

        found = enumeration(self._project, type_.name)
        if found is not None and found.members:
            return f"write `{type_}.{found.members[0]}` or another of its members"
        return f"write a value of type `{type_}`"


class _BlockReader:
    """Reads the chains of one block in order."""

    def __init__(self, grammar: Grammar, around: Surroundings, builder: str, place: Place, *, is_top: bool) -> None:
        self._grammar = grammar
        self._around = around
        self._builder = builder
        self._place = place
        self._is_top = is_top
        self._constructs: list[Construct] = []
        self._unreachable: list[Place] = []
        self._ended_by: str | None = None

    def finish(self) -> Sequence:
        """The block as read."""
        return Sequence(tuple(self._constructs), self._place, tuple(self._unreachable))

    def read_chain(self, expression: Expr) -> None:
        """Read one chain rooted at this block's builder."""
        links, root = unchain(expression)
        if not (isinstance(root, Name) and root.id == self._builder and links):
            self._refuse_root(expression, root)
            return
        before: Open = None
        for number, link in enumerate(links):
            before = self._read_link(link, before, is_first=number == 0)
        self._close(before)

    def _read_link(self, link: Link, before: Open, *, is_first: bool) -> Open:
        at = self._grammar._project.place(self._around.module, link.span)  # noqa: SLF001  # one reader in two classes
        if link.name not in CALL_NAMES:
            self._close(before)
            close = get_close_matches(snake(link.name), CALL_NAMES, 1, 0.6)
            hint = f"did you mean `{close[0]}`?" if close else f"it knows {', '.join(sorted(CALL_NAMES))}"
            self._grammar.problem(ids.UNKNOWN_CALL, at, f"the builder has no `{link.name}`", hint)
            return link.name
        if self._ended_by is not None:
            self._close(before)
            return self._after_end(link, at)
        if link.name in STEP_DETAILS or link.name in ("otherwise", "case", "default", "or_signal", "on_timeout"):
            if is_first:
                before = None
            return self._grammar.detail(self._around, link, before)
        self._close(before)
        if link.name in ("returns", "emit_on_failure"):
            self._read_top_level(link, at)
            return link.name
        made = self._grammar.construct(self._around, link)
        if link.name == "fail":
            self._ended_by = "fail"
        return made

    def _after_end(self, link: Link, at: Place) -> Open:
        if self._ended_by == "fail" and link.name != "returns":
            self._unreachable.append(at)
        elif self._ended_by == "fail" and self._is_top:
            self._read_top_level(link, at)
        else:
            self._grammar.problem(
                ids.CALL_AFTER_END, at, f"`{link.name}` stands after `returns`", "make `returns` the last call"
            )
        return link.name

    def _read_top_level(self, link: Link, at: Place) -> None:
        if not self._is_top:
            message = f"`{link.name}` stands in a block: it belongs to the flow as a whole"
            self._grammar.problem(ids.RETURNS_MISPLACED, at, message, "write it at the top level of define")
            return
        if link.name == "emit_on_failure":
            made = self._grammar.construct(self._around, link)
            if isinstance(made, Emit):
                self._grammar.body.on_failure.append(made)
            return
        self._ended_by = "returns"
        given = self._grammar.given(self._around, link)
        projection = None if given is None else given.get("projection")
        if projection is not None:
            function = self._grammar._values.data_function(self._around, projection, "returns")  # noqa: SLF001  # one reader in two classes
            self._grammar.checked(function)
            self._grammar.body.returns = function

    def _close(self, before: Open) -> None:
        """The construct before is complete."""
        match before:
            case None | str():
                return
            case SwitchDraft(selector=selector, cases=cases, default=default, place=place):
                if not cases and self._grammar.is_sound:
                    self._grammar.problem(
                        ids.CASE_MISPLACED, place, "this `switch` has no case", "write `.case(value, block)`"
                    )
                if selector is not None and cases:
                    self._constructs.append(Switch(selector, tuple(cases), default, place))
            case _:
                self._constructs.append(before)

    def _refuse_root(self, expression: Expr, root: Expr) -> None:
        place = self._grammar._project.place(self._around.module, expression.span)  # noqa: SLF001  # one reader in two classes
        if isinstance(expression, Name | Attribute) and root_name(expression) == self._builder:
            self._grammar.problem(
                ids.STATEMENT_IN_DEFINE,
                place,
                f"`{dotted(expression)}` is named and not called: it adds nothing to the flow",
                f"write the call, as in `{self._builder}.step(…)`",
            )
            return
        if isinstance(root, Name) and root.id in self._around.builders and root.id != self._builder:
            self._grammar.problem(
                ids.WRONG_BUILDER,
                self._grammar._project.place(self._around.module, root.span),  # noqa: SLF001  # one reader in two classes
                f"this block builds on `{root.id}`, the builder around it",
                f"start the chain with this block's own `{self._builder}`",
            )
            return
        self._grammar.problem(
            ids.STATEMENT_IN_DEFINE,
            place,
            f"this is not a chain of calls on `{self._builder}`",
            f"write `{self._builder}.step(…)` and the like; a definition is read, never run",
        )


def _same(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right
