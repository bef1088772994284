"""Reads a duration argument: what is certainly none is noted, what does not fold is left to rule 1054."""

from __future__ import annotations

from datetime import timedelta

from flowx_compiler.link import problem_ids as ids
from flowx_compiler.link.project import Project
from flowx_compiler.model import DurationValue
from flowx_compiler.syntax import Constant, Expr
from flowx_runtime.plan import InvalidDuration

DURATION_HINT = "write ISO-8601 text such as 'PT5S' or 'P7D', a `timedelta`, or a constant naming one"
_KINDS = ("datetime.timedelta", "builtins.str")


def read_duration(project: Project, module: str, expression: Expr, call: str, parameter: str) -> DurationValue | None:
    """The duration an expression gives, or `None` where it gives none, which has been noted then."""
    place = project.place(module, expression.span)
    folded = project.constants.duration(module, expression)
    if isinstance(folded, InvalidDuration):
        project.problems.add(ids.NOT_A_DURATION, place, f"`{parameter}` of `{call}`: {folded}", DURATION_HINT)
        return None
    if isinstance(folded, timedelta):
        if folded <= timedelta(0):
            message = f"`{parameter}` of `{call}` is {folded}, which is no time at all"
            project.problems.add(ids.DURATION_NOT_POSITIVE, place, message, "give a positive duration")
            return None
        return DurationValue(project.constants.value(module, expression), folded)
    if not project.constants.may_be(module, expression, kinds=_KINDS):
        _, target = project.constants.follow(module, expression)
        is_number = isinstance(target, Constant) and isinstance(target.value, int | float)
        why = ": a bare number has no unit" if is_number else ""
        project.problems.add(
            ids.NOT_A_DURATION, place, f"`{parameter}` of `{call}` is not a duration{why}", DURATION_HINT
        )
        return None
    return DurationValue(project.constants.value(module, expression), None)
