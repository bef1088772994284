"""A port whose every call is a step that runs at most once, with nothing else to write."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

Once = Callable[[str, Callable[[], Awaitable[Any]]], Awaitable[Any]]


class DurablePort:
    """Stands for a port: an async method called through it is a step named `Port.method`."""

    __slots__ = ("_name", "_once", "_port")

    def __init__(self, port: Any, name: str, once: Once) -> None:
        self._port = port
        self._name = name
        self._once = once

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not callable(found):
            return found
        if not inspect.iscoroutinefunction(found):
            raise TypeError(
                f"{self._name}.{name} is not async, so it cannot wait for its record: "
                f"write ctx.once('{self._name}.{name}', lambda: …) around the call"
            )

        def call(*arguments: Any, **named: Any) -> Awaitable[Any]:
            return self._once(f"{self._name}.{name}", partial(found, *arguments, **named))

        return call

    def __repr__(self) -> str:
        return f"<durable {self._name}>"


def port_name(port: object) -> str:
    """What a port is called: the protocol that its class says it is, else the class itself.

    An implementation can then be exchanged without its calls being called otherwise.
    """
    cls = type(port)
    declared = (base.__name__ for base in cls.__mro__ if base is not Protocol and getattr(base, "_is_protocol", False))
    return next(declared, cls.__name__)
