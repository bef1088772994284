"""An async capability that blocks, or forgets to await.

What it detects: in an `async` capability, a call that is known to block (`time.sleep`, `requests`,
`subprocess.run`, a synchronous database driver, `open` in a loop), and a coroutine of the project
or of asyncio that is made and not awaited.

Why it matters: All runs of a process share one event loop: while one blocks, no lease is renewed
and no other step goes on. A coroutine that nobody awaits never runs.

What it cannot prove: what a library or injected object does inside.

When to suppress: The call is known to be short.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.ambient import project_function
from flowx_compiler.check.own_code import statements_of
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Capability, Program
from flowx_compiler.rules.rule import WARNING, Example, Rule
from flowx_compiler.syntax import Attribute, Block, Call, Expr, ExprStatement, Function, Name

RULE = Rule("FLOWX1068", "blocks-the-event-loop", WARNING)

INVALID = (
    Example(
        """\
flow.step(slow)
""",
        module="""\
import time


@capability("example.slow", version="1.0.0", authorization=Internal(), idempotent=True)
async def slow(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    time.sleep(1)  # <-
    return ManualReview(ticket="t")
""",
    ),
    Example(
        """\
flow.step(slow)
""",
        module="""\
import asyncio


@capability("example.slow", version="1.0.0", authorization=Internal(), idempotent=True)
async def slow(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    asyncio.sleep(1)  # <-
    return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(slow)
""",
        module="""\
import asyncio


@capability("example.slow", version="1.0.0", authorization=Internal(), idempotent=True)
async def slow(request: PlaceOrder, ctx: StepContext) -> ManualReview:
    await asyncio.sleep(1)
    return ManualReview(ticket="t")
""",
    ),
)


_BLOCKING = frozenset(
    {
        "time.sleep",
        "os.system",
        "os.popen",
        "subprocess.run",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "urllib.request.urlopen",
        "socket.create_connection",
        "psycopg.connect",
        "psycopg2.connect",
        "sqlite3.connect",
        "pymysql.connect",
        "redis.Redis",
        "boto3.client",
        "boto3.resource",
    }
)
_BLOCKING_VERBS = frozenset(
    f"{library}.{verb}"
    for library in ("requests", "httpx")
    for verb in ("get", "post", "put", "patch", "delete", "head", "options", "request")
)
_COROUTINES = frozenset({"asyncio.sleep", "asyncio.gather", "asyncio.wait_for", "asyncio.to_thread"})


def check(program: Program) -> Iterator[Finding]:
    """Every blocking call and every forgotten await in async code of a capability."""
    for capability in program.capabilities.values():
        file = program.modules[capability.module].file
        for function in _async_functions(capability):
            own = tuple(statements_of(function.body))
            for call in _blocking(program, capability.module, own):
                yield RULE.finding(
                    Place(file, call.span),
                    f"capability {capability.id!r} blocks the event loop with `{_spelt(call.function)}`",
                    label="nothing else runs meanwhile",
                    help="use an async library, `await asyncio.to_thread(…)`, or make the capability a plain `def`",
                )
            for call in _forgotten(program, capability, own):
                yield RULE.finding(
                    Place(file, call.span),
                    f"capability {capability.id!r} never awaits `{_spelt(call.function)}(…)`",
                    label="never runs",
                    help="write `await` before it",
                )


def _async_functions(capability: Capability) -> Iterator[Function]:
    if capability.owner is None:
        if capability.is_async:
            yield capability.function
        return
    for statement in capability.owner.body:
        if isinstance(statement, Function) and statement.is_async:
            yield statement


def _blocking(program: Program, module: str, own: tuple[object, ...]) -> Iterator[Call]:
    for node in own:
        if isinstance(node, Call):
            name = qualified(program, module, node.function)
            if name is not None and (name in _BLOCKING or name in _BLOCKING_VERBS):
                yield node
        if isinstance(node, Block) and node.kind in ("for", "while"):
            for suite in node.suites:
                for inner in statements_of(suite.body):
                    if isinstance(inner, Call) and isinstance(inner.function, Name) and inner.function.id == "open":
                        yield inner


def _forgotten(program: Program, capability: Capability, own: tuple[object, ...]) -> Iterator[Call]:
    for node in own:
        match node:
            case ExprStatement(value=Call() as call) if _is_coroutine(program, capability, call):
                yield call
            case _:
                pass


def _is_coroutine(program: Program, capability: Capability, call: Call) -> bool:
    match call.function:
        case Attribute(value=Name(id="self"), attr=method) if capability.owner is not None:
            return any(
                isinstance(statement, Function) and statement.name == method and statement.is_async
                for statement in capability.owner.body
            )
        case _:
            name = qualified(program, capability.module, call.function)
            if name is None:
                return False
            helper = project_function(program, name)
            return name in _COROUTINES or (helper is not None and helper[1].is_async)


def _spelt(function: Expr) -> str:
    match function:
        case Attribute(value=value, attr=attribute):
            return f"{_spelt(value)}.{attribute}"
        case Name(id=name):
            return name
        case _:
            return "…"
