"""The names that pydantic's own alias generators make of members' names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_JOINT = re.compile(r"(?<=[0-9A-Za-z])_(?=[0-9A-Z])")
_CAMEL = re.compile(r"[a-z]+[A-Za-z0-9]*\n?\Z")
_DIGIT_THEN_LETTER = re.compile(r"[0-9][a-z]")
_BOUNDARY = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z0-9])(?=[A-Z])|(?<=[a-z])(?=[0-9])")


def pascal(name: str) -> str:
    """`order_id` as `OrderId`."""
    return _JOINT.sub("", name.title())


def camel(name: str) -> str:
    """`order_id` as `orderId`; a name that is that already stays."""
    if _CAMEL.match(name) and not _DIGIT_THEN_LETTER.search(name):
        return name
    made = pascal(name)
    first = len(made) - len(made.lstrip("_"))
    return made[: first + 1].lower() + made[first + 1 :] if made[first : first + 1].isascii() else made


def snake(name: str) -> str:
    """`orderId` as `order_id`."""
    return _BOUNDARY.sub("_", name).replace("-", "_").lower()


MAKERS: Mapping[str, Callable[[str], str]] = {"to_camel": camel, "to_pascal": pascal, "to_snake": snake}
"""By the function's name in `pydantic.alias_generators`."""
