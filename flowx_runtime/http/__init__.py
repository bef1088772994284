"""Flows on HTTP: an ASGI application made from a host's plans. Needs the extra `http`.

    app = create_app(host, authenticate=my_authenticator)

Names resolve on first use, so that importing the package costs nothing where Starlette is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowx_runtime.names import resolver

if TYPE_CHECKING:
    from flowx_runtime.http.app import create_app
    from flowx_runtime.http.authentication import Authenticator, BearerTokens

_HOME = {"create_app": "app", "Authenticator": "authentication", "BearerTokens": "authentication"}

__all__ = ["Authenticator", "BearerTokens", "create_app"]


__getattr__ = resolver(__name__, _HOME)
