"""Binds the arguments of a call to the parameters it has, and says what is missing, unknown or too many."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from flowx_compiler.findings import Place
from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.project import Given, Project
from flowx_compiler.syntax import Argument, Call


@dataclass(frozen=True, slots=True)
class Signature:
    """What a builder call or decorator takes."""

    positional: tuple[str, ...] = ()
    """By position only, in order."""
    flexible: tuple[str, ...] = ()
    """By position after those, or by keyword."""
    keyword: tuple[str, ...] = ()
    """By keyword only."""
    required: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter that may be given by keyword."""
        return (*self.flexible, *self.keyword)


def bind(project: Project, module: str, call: Call, name: str, signature: Signature, at: Place) -> Given | None:
    """Bind a call's arguments; `None` where they do not fit, which has been noted then."""
    bound: dict[str, Argument] = {}
    positions = (*signature.positional, *signature.flexible)
    is_fitting = True

    def refuse(id: str, argument: Argument, message: str, help: str) -> None:
        nonlocal is_fitting
        is_fitting = False
        project.problems.add(id, project.place(module, argument.span), message, help)

    for position, argument in enumerate(call.arguments):
        if argument.star:
            refuse(
                ids.STARRED_ARGUMENT,
                argument,
                f"`{name}` is given `{argument.star}` arguments, which the compiler does not read",
                "write the arguments out",
            )
        elif argument.keyword is None and position >= len(positions):
            refuse(
                ids.UNKNOWN_ARGUMENT,
                argument,
                f"`{name}` takes {_count(len(positions))}, this is number {position + 1}",
                _by_keyword(signature),
            )
        elif argument.keyword is None:
            bound[positions[position]] = argument
        elif argument.keyword not in signature.names:
            close = get_close_matches(argument.keyword, signature.names, 1)
            hint = f"did you mean `{close[0]}`?" if close else f"it knows {_listed(signature.names)}"
            refuse(ids.UNKNOWN_ARGUMENT, argument, f"`{name}` has no argument `{argument.keyword}`", hint)
        elif argument.keyword in bound:
            message = f"`{name}` is given `{argument.keyword}` twice"
            refuse(ids.UNKNOWN_ARGUMENT, argument, message, "give it once")
        else:
            bound[argument.keyword] = argument
    missing = [
        parameter for parameter in (*positions, *signature.keyword) if parameter in signature.required - bound.keys()
    ]
    if missing and is_fitting:
        is_fitting = False
        project.problems.add(
            ids.MISSING_ARGUMENT,
            at,
            f"`{name}` is missing {_listed(tuple(missing))}",
            "write it: flowx invents no value for it" if len(missing) == 1 else "write them: flowx invents no values",
        )
    return Given(bound) if is_fitting else None


def _count(number: int) -> str:
    return "no positional arguments" if number == 0 else f"{number} positional argument{'s' if number > 1 else ''}"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none by keyword"


def _by_keyword(signature: Signature) -> str:
    if signature.keyword:
        return f"give {_listed(signature.keyword)} by keyword"
    return "take it away"
