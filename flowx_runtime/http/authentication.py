"""Who sends a request. The host's authenticator alone says so: no header or body of ours ever does."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Mapping
from typing import Protocol

from starlette.requests import Request

from flowx_runtime.authoring.authorization import Principal


class Authenticator(Protocol):
    """Knows principals by their requests."""

    def __call__(self, request: Request, /) -> Awaitable[Principal | None]:
        """The principal; `None` for somebody it does not know. It must not read the body."""
        ...


async def nobody(_: Request) -> Principal | None:
    """Knows nobody."""
    return None


class BearerTokens:
    """Knows principals by fixed bearer tokens: for demonstrations, and for services behind one another.

    Args:
        principals: by token.
    """

    def __init__(self, principals: Mapping[str, Principal]) -> None:
        self._principals = dict(principals)

    async def __call__(self, request: Request) -> Principal | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        found = None
        for known, principal in self._principals.items():
            # Every token is compared, and in constant time: how long it takes tells nothing.
            if hmac.compare_digest(known.encode(), token.strip().encode("utf-8", "replace")):
                found = principal
        return found
