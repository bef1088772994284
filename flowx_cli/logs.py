"""How a process that runs for long writes its log: a line of text, or a JSON document, for each record."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final

FORMATS: Final = ("text", "json")

_OF_EVERY_RECORD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """One JSON document a record, with the facts that were logged beside its message."""

    def format(self, record: logging.LogRecord) -> str:
        document: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        document |= {name: fact for name, fact in record.__dict__.items() if name not in _OF_EVERY_RECORD}
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return json.dumps(document, default=str)


class TextLines(logging.Formatter):
    """For a person at a terminal."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")


def write_log(format_: str) -> None:
    """Have everything from INFO on written to the error stream, in a format."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if format_ == "json" else TextLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
