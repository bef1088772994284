"""Which requests start a flow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

METHODS: Final = ("POST", "PUT", "PATCH")
"""Those with a body, which is the flow's input."""

_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What `@http_trigger` said of a flow."""

    method: str
    path: str
    """Literal segments; what the flow needs is in the body."""
    idempotent: bool = False
    """Whether a request needs an `Idempotency-Key`."""


def route_problem(method: str, path: str) -> str | None:
    """Why nobody could send such a request; `None` where somebody can."""
    if method not in METHODS:
        return f"the method {method!r} carries no input: use one of {', '.join(METHODS)}"
    if not _PATH.fullmatch(path):
        return f"the route {path!r} is no path of plain segments, such as '/api/v1/orders'"
    return None
