"""The retries of steps inside capabilities, as far as their source says what they are."""

from __future__ import annotations

from flowx_compiler.check.reads import qualified
from flowx_compiler.model import Program
from flowx_compiler.syntax import Assign, Attribute, Call, Expr, Name

_FACTORIES = frozenset(f"flowx_runtime.Backoff.{name}" for name in ("fixed", "exponential", "exponential_jitter"))


def is_uncapped(program: Program, module: str, retry: Expr) -> bool:
    """Whether a backoff is known to have no `.max_attempts(n)`; what cannot be followed is left to the runtime."""
    match retry:
        case Call(function=Attribute(attr="max_attempts")):
            return False
        case Call(function=function):
            return qualified(program, module, function) in _FACTORIES
        case Name() | Attribute():
            name = qualified(program, module, retry)
            found = None if name is None else _constant(program, name)
            return found is not None and is_uncapped(program, *found)
        case _:
            return False


def _constant(program: Program, name: str) -> tuple[str, Expr] | None:
    """The module and value of a module-level name."""
    module, _, short = name.rpartition(".")
    if module not in program.modules:
        return None
    for statement in program.modules[module].body:
        match statement:
            case Assign(targets=(Name(id=target),), value=value) if target == short and value is not None:
                return module, value
            case _:
                pass
    return None
