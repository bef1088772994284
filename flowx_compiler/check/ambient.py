"""Reads of what is not flow state: clocks, randomness, the environment; in code and through the project's helpers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowx_compiler.check.reads import calls, qualified
from flowx_compiler.findings import Place
from flowx_compiler.model import DataFunction, Program
from flowx_compiler.syntax import Attribute, Function

CLOCK = "the machine's clock"
RANDOM = "randomness from outside the run"
_ENVIRONMENT = "the process's environment"
_FILES = "something outside the run"
_USE_CLOCK = "use `ctx.utc_now`, which is recorded"
_USE_STEP = "read it in a step, whose result is recorded, and use that"

AMBIENT: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            "datetime.datetime.now",
            "datetime.datetime.utcnow",
            "datetime.datetime.today",
            "datetime.date.today",
            "time.time",
            "time.time_ns",
            "time.monotonic",
            "time.monotonic_ns",
            "time.perf_counter",
            "time.perf_counter_ns",
            "time.localtime",
            "time.gmtime",
        ),
        (CLOCK, _USE_CLOCK),
    ),
    **dict.fromkeys(
        (
            "uuid.uuid1",
            "uuid.uuid4",
            "uuid.uuid7",
            "os.urandom",
            "random.random",
            "random.randint",
            "random.randrange",
            "random.choice",
            "random.choices",
            "random.shuffle",
            "random.sample",
            "random.uniform",
            "random.gauss",
            "random.getrandbits",
            "random.Random",
            "random.SystemRandom",
            "secrets.token_hex",
            "secrets.token_bytes",
            "secrets.token_urlsafe",
            "secrets.choice",
            "secrets.randbelow",
            "secrets.randbits",
        ),
        (RANDOM, _USE_STEP),
    ),
    **dict.fromkeys(("os.getenv", "os.environ.get", "os.getpid", "socket.gethostname"), (_ENVIRONMENT, _USE_STEP)),
    **dict.fromkeys(("builtins.open", "builtins.input"), (_FILES, _USE_STEP)),
}


@dataclass(frozen=True, slots=True)
class AmbientRead:
    """One ambient read, and how the code got there."""

    name: str
    kind: str
    instead: str
    place: Place
    trace: tuple[Place, ...]
    """The calls that lead there from the data function, outermost first; empty where it reads itself."""


def ambient_reads(program: Program, function: DataFunction) -> Iterator[AmbientRead]:
    """Every ambient read of a data function; one that a helper makes is reported where the data function calls it."""
    for read in reads_below(program, function.module, function.syntax, ()):
        if not read.trace:
            yield read
        else:
            yield AmbientRead(read.name, read.kind, read.instead, read.trace[0], (*read.trace[1:], read.place))


def reads_below(
    program: Program, module: str, syntax: object, seen: tuple[str, ...], trace: tuple[Place, ...] = ()
) -> Iterator[AmbientRead]:
    """Every ambient read below a piece of syntax, through functions of the project."""
    file = program.modules[module].file
    for call in calls(syntax):
        name = meaning(program, module, call.function)
        if name is None:
            continue
        place = Place(file, call.span)
        known = AMBIENT.get(name)
        if known is not None:
            short = name.removeprefix("builtins.").removeprefix("datetime.")
            yield AmbientRead(f"{short}()", *known, place, trace)
            continue
        target = project_function(program, name)
        if target is not None and name not in seen:
            home, helper = target
            yield from reads_below(program, home, helper.body, (*seen, name), (*trace, place))


def meaning(program: Program, module: str, function: object) -> str | None:
    """The qualified name of what is called, built-ins included."""
    if not isinstance(function, tuple):
        return None
    name = qualified(program, module, function)  # type: ignore[arg-type]  # anything else than a dotted name is None
    if name is None and type(function).__name__ == "Name":
        identifier = getattr(function, "id", "")
        return f"builtins.{identifier}" if identifier in ("open", "input") else None
    if name is None and isinstance(function, Attribute):
        return None
    return name


def project_function(program: Program, name: str) -> tuple[str, Function] | None:
    """The module and statement of a module-level function of the project."""
    module, _, short = name.rpartition(".")
    if module in program.modules:
        for statement in program.modules[module].body:
            if isinstance(statement, Function) and statement.name == short:
                return module, statement
    return None
