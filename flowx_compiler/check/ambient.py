"""Reads of what is not flow state: clocks, randomness, the environment; in code and through the project's helpers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowx_compiler.check.nodes import nodes
from flowx_compiler.check.reads import qualified
from flowx_compiler.check.receivers import Receivers
from flowx_compiler.check.set_order import set_orders
from flowx_compiler.check.state import changing_names
from flowx_compiler.findings import Place
from flowx_compiler.model import DataFunction, Flow, Program
from flowx_compiler.syntax import Assign, Attribute, Call, Expr, Function, Name

CLOCK = "the machine's clock"
RANDOM = "randomness from outside the run"
_ENVIRONMENT = "the process's environment"
_OUTSIDE = "something outside the run"
_CHANGING = "a value of its module that may change"
_SET_ORDER = "the order of a set, another one in each process"
_USE_SORTED = "sort it: `sorted(…)`"
_USE_CLOCK = "use `ctx.utc_now`, which is recorded"
_USE_STEP = "read it in a step, whose result is recorded, and use that"

_NAMES: dict[str, tuple[str, str]] = {
    **{f"datetime.datetime.{name}": (CLOCK, _USE_CLOCK) for name in ("now", "utcnow", "today")},
    "datetime.date.today": (CLOCK, _USE_CLOCK),
    **{
        f"time.{name}": (CLOCK, _USE_CLOCK)
        for name in (
            *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"),
            *("process_time_ns", "thread_time", "thread_time_ns", "localtime", "gmtime", "ctime", "asctime"),
        )
    },
    **dict.fromkeys(
        (
            *("timeit.default_timer", "pendulum.now", "pendulum.today", "arrow.now", "arrow.utcnow"),
            "django.utils.timezone.now",
        ),
        (CLOCK, _USE_CLOCK),
    ),
    **dict.fromkeys(
        (
            *("uuid.uuid1", "uuid.uuid4", "uuid.uuid6", "uuid.uuid7", "uuid.uuid8", "os.urandom", "os.getrandom"),
            *("tempfile.mktemp", "tempfile.mkstemp", "tempfile.NamedTemporaryFile", "bson.ObjectId", "ulid.ULID"),
            *("nanoid.generate", "shortuuid.uuid"),
        ),
        (RANDOM, _USE_STEP),
    ),
    **dict.fromkeys(
        (
            *("os.getenv", "os.environ", "os.getpid", "os.getcwd", "os.cpu_count", "socket.gethostname", "sys.argv"),
            *("asyncio.current_task", "threading.current_thread", "threading.get_ident"),
        ),
        (_ENVIRONMENT, _USE_STEP),
    ),
    **{
        f"builtins.{name}": (_OUTSIDE, _USE_STEP)
        for name in ("open", "input", "print", "hash", "id", "globals", "eval", "exec", "__import__")
    },
}
_LONGEST_CHAIN = 8
"""Names of names of names; a longer chain is a circle."""

_PREFIXES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("random.", "secrets.", "numpy.random."), (RANDOM, _USE_STEP)),
    **dict.fromkeys(
        ("subprocess.", "socket.", "requests.", "httpx.", "urllib.request.", "platform.", "locale.", "logging."),
        (_OUTSIDE, _USE_STEP),
    ),
}


def ambient(name: str) -> tuple[str, str] | None:
    """What kind of ambient source a qualified name is, and what to use instead; `None` for anything else."""
    known = _NAMES.get(name)
    if known is not None:
        return known
    return next((value for prefix, value in _PREFIXES.items() if name.startswith(prefix)), None)


@dataclass(frozen=True, slots=True)
class AmbientRead:
    """One ambient read, and how the code got there."""

    name: str
    kind: str
    instead: str
    place: Place
    trace: tuple[Place, ...]
    """The calls that lead there from the data function, outermost first; empty where it reads itself."""


def ambient_reads(program: Program, flow: Flow, function: DataFunction) -> Iterator[AmbientRead]:
    """Every ambient read of a data function; one that a helper or member makes is reported where it is asked for it."""
    values = Receivers.of_decision(program, flow, function)
    for read in reads_below(program, function.module, function.syntax, (), values=values):
        if not read.trace:
            yield read
        else:
            yield AmbientRead(read.name, read.kind, read.instead, read.trace[0], (*read.trace[1:], read.place))


def reads_below(
    program: Program,
    module: str,
    syntax: object,
    seen: tuple[str, ...],
    trace: tuple[Place, ...] = (),
    values: Receivers | None = None,
) -> Iterator[AmbientRead]:
    """Every ambient read below a piece of syntax, through functions of the project.

    Args:
        program: the program.
        module: where the code is.
        syntax: the code.
        seen: the functions that led there.
        trace: their calls.
        values: what is known of the values it works with; with it, members of the project's classes are followed too.
    """
    file = program.modules[module].file
    judged: set[int] = set()
    if values is not None:
        for what, span in set_orders(program, syntax, values):
            yield AmbientRead(what, _SET_ORDER, _USE_SORTED, Place(file, span), trace)
    for node in nodes(program, syntax):
        if values is not None and isinstance(node, Attribute):
            member = values.member(node)
            if member is not None and member.module in program.modules:
                if member.name not in seen:
                    yield from reads_below(
                        program,
                        member.module,
                        member.function.body,
                        (*seen, member.name),
                        (*trace, Place(file, node.span)),
                        values.into(member.module, member.function, member.owner),
                    )
                continue
        called = node.function if isinstance(node, Call) else node
        if id(called) in judged or not isinstance(called, Name | Attribute):
            continue
        name = _meaning(program, module, called)
        if name is None:
            continue
        judged |= _parts(called)
        assert isinstance(node, Call | Name | Attribute), "only these mean something"
        place = Place(file, node.span)
        known = _source(name)
        if known is None and _is_changing(program, name):
            known = (
                _CHANGING,
                "make it an immutable constant (`NAME: Final = …`, a tuple or frozenset), or read it in a step",
            )
        if known is not None:
            short = name.removeprefix("builtins.").removeprefix("datetime.")
            yield AmbientRead(f"{short}()" if isinstance(node, Call) else short, *known, place, trace)
            continue
        target = project_function(program, name) if isinstance(node, Call) else None
        if target is not None and name not in seen:
            home, helper = target
            given = None if values is None else values.into(home, helper)
            yield from reads_below(program, home, helper.body, (*seen, name), (*trace, place), given)


def _source(name: str) -> tuple[str, str] | None:
    """A source, or a method of one such as `os.environ.get`."""
    return ambient(name) or (ambient("os.environ") if name.startswith("os.environ.") else None)


def _parts(expression: Expr) -> set[int]:
    """The objects of a dotted name: having judged the whole, its parts say nothing more."""
    found = {id(expression)}
    while isinstance(expression, Attribute):
        expression = expression.value
        found.add(id(expression))
    return found


def _meaning(program: Program, module: str, expression: Name | Attribute) -> str | None:
    """The qualified name of what is named, built-ins included."""
    name = qualified(program, module, expression)
    if name is None and isinstance(expression, Name) and f"builtins.{expression.id}" in _NAMES:
        return f"builtins.{expression.id}"
    return name if name is None else _behind_aliases(program, name)


def _behind_aliases(program: Program, name: str) -> str:
    """What a module-level name stands for that is another name for something: `now = datetime.now`."""
    for _ in range(_LONGEST_CHAIN):
        module, _, short = name.rpartition(".")
        if module not in program.modules or short in changing_names(program, module):
            return name
        value = next(
            (
                statement.value
                for statement in program.modules[module].body
                if isinstance(statement, Assign)
                and [getattr(target, "id", "") for target in statement.targets] == [short]
            ),
            None,
        )
        inner = qualified(program, module, value) if isinstance(value, Name | Attribute) else None
        if inner is None:
            return name
        name = inner
    return name


def _is_changing(program: Program, name: str) -> bool:
    """Whether a module-level name may mean another value later."""
    module, _, short = name.rpartition(".")
    return module in program.modules and short in changing_names(program, module)


def project_function(program: Program, name: str) -> tuple[str, Function] | None:
    """The module and statement of a module-level function of the project."""
    module, _, short = name.rpartition(".")
    if module in program.modules:
        for statement in program.modules[module].body:
            if isinstance(statement, Function) and statement.name == short:
                return module, statement
    return None
