"""Flows on HTTP: an ASGI application made from a host's plans. Needs the extra `http`.

    app = create_app(host, authenticate=my_authenticator)

Names resolve on first use, so that importing the package costs nothing where Starlette is not installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowx_runtime.http.app import create_app
    from flowx_runtime.http.authentication import Authenticator, BearerTokens

_HOME = {"create_app": "app", "Authenticator": "authentication", "BearerTokens": "authentication"}

__all__ = ["Authenticator", "BearerTokens", "create_app"]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
