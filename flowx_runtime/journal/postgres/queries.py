"""The named statements of `sql/queries.sql`, with the schema's name filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from psycopg import sql

_FOLDER: Final = Path(__file__).parent
_HEADING: Final = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries(schema: str) -> Mapping[str, bytes]:
    """Every statement by name, ready to send."""
    _, *parts = _HEADING.split((_FOLDER / "sql" / "queries.sql").read_text(encoding="utf-8"))
    return {
        # These are sent with parameters, where a percent sign stands for one.
        name: in_schema(re.sub(r"^--.*\n", "", text.strip(), flags=re.MULTILINE), schema.replace("%", "%%"))
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


def in_schema(text: str, schema: str) -> bytes:
    """A packaged statement for one schema. The schema is the only thing that is ever put into a statement's text."""
    packaged: Any = text  # the driver's type asks for a literal; this is a file of the package, never input
    return sql.SQL(packaged).format(schema=sql.Identifier(schema)).as_bytes(None)
