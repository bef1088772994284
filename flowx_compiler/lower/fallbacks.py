"""The fallback of a policy set, as its author wrote it."""

from __future__ import annotations

from flowx_compiler.model import Program
from flowx_compiler.syntax import Assign, Call, Expr

_POSITION = 5
"""Of `fallback` among the parameters of `PolicySet`."""
_LONGEST_CHAIN = 8
"""Names of names of names; a longer chain is a circle."""


def fallback_of(program: Program, module: str, policy: Expr) -> tuple[str, Expr] | None:
    """The expression and the module it is in; `None` where the policy set has none.

    Args:
        program: says what names mean.
        module: where the policy set is named or written.
        policy: the policy set.
    """
    assert program.lookup is not None, "a linked program can be asked what a name means"
    for _ in range(_LONGEST_CHAIN):
        if isinstance(policy, Call):
            for number, argument in enumerate(policy.arguments):
                if argument.keyword == "fallback" or (argument.keyword is None and number == _POSITION):
                    return module, argument.value
            return None
        qualified = program.lookup.resolve_expression(module, policy)
        found = None if qualified is None else program.lookup.definition(qualified)
        if found is None or not isinstance(found[1], Assign) or found[1].value is None:
            return None
        module, policy = found[0], found[1].value
    return None
