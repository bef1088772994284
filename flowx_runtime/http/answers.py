"""How an instance stands, as a response."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from starlette.responses import JSONResponse, Response

from flowx_runtime.engine.documents import Documents, shown
from flowx_runtime.host.outcome import Completed, Failed, Outcome, Suspended
from flowx_runtime.http.problems import problem, status_of_failure
from flowx_runtime.journal.records import History, InstanceRow, State


def started(outcome: Outcome, base: str, correlation_id: str) -> Response:
    """The answer to a request that starts a flow.

    Args:
        outcome: how it stands.
        base: the path of the flow's route, as the client sees it.
        correlation_id: of the request.
    """
    match outcome:
        case Completed(value=None):
            return JSONResponse(None)
        case Completed(value=value):
            return Response(Documents.published(type(value), value), 200, media_type="application/json")
        case Suspended(instance_id=instance_id, awaiting=awaiting):
            waits = _awaiting(awaiting, f"{base}/{instance_id}")
            location = waits[0]["deliverTo"] if len(waits) == 1 else f"{base}/{instance_id}"
            document = {"instanceId": str(instance_id), "status": "suspended"} | ({"awaiting": waits} if waits else {})
            return JSONResponse(document, 202, {"Location": location})
        case Failed(error=error):
            return problem(status_of_failure(error), error.code, error.detail, correlation_id)


def completed_elsewhere(instance: InstanceRow) -> Response:
    """The same for an instance that completed under a plan that this node lacks: its output, as it is stored."""
    return JSONResponse(None if instance.output is None else json.loads(shown(instance.output)))


def delivered(instance_id: UUID, history: History | None, base: str) -> Response:
    """The answer to a delivery: how the instance stands, and never what it gives, which is for who started it."""
    document: dict[str, Any] = {"instanceId": str(instance_id), "status": "accepted"}
    if history is not None:
        document |= _standing(history, f"{base}/{instance_id}")
    return JSONResponse(document, 202)


def state(history: History, base: str) -> Response:
    """The answer to who asks for an instance."""
    instance = history.instance
    document: dict[str, Any] = {"instanceId": str(instance.instance_id)}
    document |= _standing(history, f"{base}/{instance.instance_id}")
    if instance.output is not None:
        document["output"] = json.loads(shown(instance.output))
    if instance.error is not None:
        error = instance.error
        said = "what failed is in the log" if status_of_failure(error) == 500 else error.detail
        document["error"] = {"code": error.code, "category": error.category, "detail": said}
    return JSONResponse(document)


def _standing(history: History, at: str) -> dict[str, Any]:
    instance = history.instance
    signals = [wait.signal_id for wait in instance.waits if wait.signal_id is not None]
    waits = _awaiting(tuple(dict.fromkeys(name for name in signals if not name.startswith("flow."))), at)
    found: dict[str, Any] = {"status": _status(instance.state)}
    return found | ({"awaiting": waits} if waits else {})


def _awaiting(signals: tuple[str, ...], at: str) -> list[dict[str, str]]:
    """The waits that are open now."""
    return [{"signal": signal, "deliverTo": f"{at}/signals/{signal}"} for signal in signals]


def _status(state: State) -> str:
    """`TimedOut` as `timed_out`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in state.value).lstrip("_")
