"""A business outcome raised as a defect.

What it detects: in a capability, a `raise` of an exception of the project or of Python that is
neither a `FlowError` nor one that says that the program is wrong (`ValueError`, `TypeError`,
`AssertionError` and their kin). Inside a `try` with an `except` it is silent.

Why it matters: What is not a `FlowError` is a defect: it has no code and no category, so no caller
can handle it, the manifest does not list it and somebody is called at night.

What it cannot prove: exceptions that helpers and libraries raise; whether the outcome really is
expected.

When to suppress: It is a violation of an invariant that no caller can act on.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from flowx_compiler.check.own_code import classes
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule
from flowx_compiler.syntax import Block, Call, Class, Expr, Name, Raise, Stmt

RULE = Rule("FLOWX1016", "business-outcome-as-defect", WARNING)

INVALID = (
    Example(
        """\
flow.step(refuse)
""",
        module="""\
class NotAllowed(Exception):
    pass


@capability("example.refuse", version="1.0.0", authorization=Internal(), idempotent=True)
async def refuse(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    if request.total == 0:
        raise NotAllowed("an order of nothing")  # <-
    return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(refuse)
""",
        module="""\
@capability("example.refuse", version="1.0.0", authorization=Internal(), idempotent=True)
async def refuse(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    if request.total == 0:
        raise OutOfStock("an order of nothing")
    return ManualReview(ticket="t")
""",
    ),
)


_DEFECTS = frozenset(
    {
        "ArithmeticError",
        "AssertionError",
        "AttributeError",
        "BufferError",
        "GeneratorExit",
        "IndexError",
        "KeyError",
        "KeyboardInterrupt",
        "LookupError",
        "MemoryError",
        "NotImplementedError",
        "RecursionError",
        "RuntimeError",
        "StopAsyncIteration",
        "StopIteration",
        "SystemExit",
        "TypeError",
        "UnicodeError",
        "ValueError",
        "ZeroDivisionError",
    }
)
"""Exceptions that say that the program is wrong."""


def check(program: Program) -> Iterator[Finding]:
    """Every such raise in a capability."""
    known = classes(program)
    for capability in program.capabilities.values():
        for statement in _raises(capability.function.body):
            raised = statement.value.function if isinstance(statement.value, Call) else statement.value
            if raised is None or not _is_outcome(program, known, capability.module, raised):
                continue
            name = raised.id if isinstance(raised, Name) else getattr(raised, "attr", "")
            yield RULE.finding(
                Place(program.modules[capability.module].file, statement.span),
                f"capability {capability.id!r} raises {name}, which is no `FlowError`: callers see a defect",
                label="no code, no category",
                help=f'write `class {name}(FlowError, code="…", category=Category.…)`, or catch it and raise one',
            )


def _raises(body: tuple[Stmt, ...]) -> Iterator[Raise]:
    for statement in body:
        match statement:
            case Raise():
                yield statement
            case Block(kind=kind, suites=suites):
                is_caught = kind == "try" and any(suite.role == "except" for suite in suites)
                for suite in suites:
                    if not (is_caught and suite.role == "body"):
                        yield from _raises(suite.body)
            case _:
                pass


def _is_outcome(program: Program, known: dict[str, tuple[str, Class]], module: str, raised: Expr) -> bool:
    name = qualified(program, module, raised)
    if isinstance(raised, Name) and (name is None or name.startswith("builtins.")):
        return _is_exception(raised.id) and raised.id not in _DEFECTS
    return name is not None and _is_plain_exception(program, known, name, frozenset())


def _is_plain_exception(program: Program, known: dict[str, tuple[str, Class]], name: str, seen: frozenset[str]) -> bool:
    """Whether a class of the project is an exception all of whose bases are seen, and no `FlowError`."""
    if name in seen or name in program.errors or name not in known:
        return False
    module, syntax = known[name]
    bases = [base.value for base in syntax.bases if base.keyword is None]
    for base in bases:
        above = qualified(program, module, base)
        is_builtin = isinstance(base, Name) and (above is None or above.startswith("builtins."))
        if is_builtin and isinstance(base, Name) and _is_exception(base.id):
            continue
        if above is None or not _is_plain_exception(program, known, above, seen | {name}):
            return False
    return bool(bases)


def _is_exception(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)
