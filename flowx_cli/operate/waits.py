"""What an instance waits for, in words and in a document."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from flowx_cli.operate.moments import iso, moment
from flowx_runtime.engine.session import children_waited_for
from flowx_runtime.journal.records import Wait


def wait_document(wait: Wait) -> dict[str, Any]:
    """A wait as JSON: a `signal`, or the `instance` whose end is awaited, or neither where the clock ends it."""
    child = next(iter(children_waited_for([wait])), None)
    return {
        "signal": None if child is not None else wait.signal_id,
        "instance": None if child is None else str(child),
        "until": iso(wait.wake_at),
        "scope": wait.scope,
        "step": wait.step_id,
    }


def wait_words(wait: Wait, now: datetime) -> str:
    """A wait for a person."""
    child = next(iter(children_waited_for([wait])), None)
    until = moment(wait.wake_at) + (", which has passed" if wait.wake_at <= now else "")
    if child is not None:
        return f"the instance {child}"
    return f"{wait.signal_id} until {until}" if wait.signal_id is not None else f"the clock until {until}"
