"""What is answered when a request is refused: `application/problem+json` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.authoring.vocabulary import Category
from flowx_runtime.engine.documents import ValueNotKept, ValueTooLarge
from flowx_runtime.journal.records import StoredError

_BY_CATEGORY: Final[Mapping[str, int]] = {
    Category.VALIDATION.value: 400,
    Category.NOT_FOUND.value: 404,
    Category.CONFLICT.value: 409,
    Category.FORBIDDEN.value: 403,
    Category.UNAVAILABLE.value: 503,
    Category.INTERNAL.value: 500,
}
_BY_CODE: Final[Mapping[str, int]] = {
    "authorization.not_authenticated": 401,
    "authorization.permission_denied": 403,
    "flow.idempotency_conflict": 409,
    "flow.instance_terminal": 409,
    "flow.unknown_instance": 404,
    "flow.not_runnable": 503,
    "flow.paused": 503,
    "host.closed": 503,
    "journal.not_storable": 400,
    "journal.unavailable": 503,
}
_TITLES: Final[Mapping[int, str]] = {
    400: "The request is not valid",
    401: "Sign in first",
    403: "Not allowed",
    404: "Not found",
    405: "No such method here",
    409: "In conflict with what is there",
    413: "The body is too large",
    415: "Not a media type this takes",
    500: "Something failed here",
    503: "Not available now",
}
_UNSAID: Final = "what failed is in the log"


class Refused(Exception):  # it carries an answer; nobody outside this package meets it
    """A request that is refused."""

    def __init__(self, status: int, code: str, detail: str, *, errors: list[dict[str, str]] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors


def problem(
    status: int, code: str, detail: str, correlation_id: str, *, errors: list[dict[str, str]] | None = None
) -> Response:
    """A refusal as a response. A failure of our own says its code and no more."""
    document: dict[str, Any] = {
        "type": f"urn:flowx:error:{code}",
        "title": _TITLES.get(status, "The request was refused"),
        "status": status,
        "detail": _UNSAID if status == 500 else detail,
        "code": code,
        "correlationId": correlation_id,
    }
    if errors:
        document["errors"] = errors
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status == 503:
        headers["Retry-After"] = "5"
    return JSONResponse(document, status, headers, media_type="application/problem+json")


def status_of_failure(error: StoredError) -> int:
    """The status of a flow that failed."""
    return _BY_CODE.get(error.code) or _BY_CATEGORY.get(error.category, 500)


def status_of_refusal(error: FlowxError) -> int:
    """The status of what a host refuses."""
    match error:
        case ValueTooLarge():
            return 413
        case ValueNotKept():  # of what was sent; a step that gives such a value is a defect of ours
            return 400
        case _:
            return _BY_CODE.get(error.code, 500)
