"""Reads the body of a request as a contract, or says which member is wrong without quoting it."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect, Request

from flowx_runtime.http.problems import Refused

T = TypeVar("T")

_MOST_ERRORS: Final = 20


async def read_contract(request: Request, contract: type[T], *, limit: int) -> T:
    """The body as a value of a contract.

    Args:
        request: the request.
        contract: what it has to be.
        limit: how many bytes it may have.

    Raises:
        Refused: it is too large, of another media type, no JSON, or not the contract.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Refused(415, "request.media_type", "send the body as application/json")
    content = await _content(request, limit)
    try:
        value: T = TypeAdapter(contract).validate_json(content)
    except ValidationError as error:
        raise _refusal(error) from error
    except (ValueError, RecursionError) as error:
        raise Refused(400, "request.malformed", "the body is no JSON that can be read") from error
    return value


async def _content(request: Request, limit: int) -> bytes:
    too_large = Refused(413, "request.too_large", f"the body may have {limit} bytes")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise too_large
    content = bytearray()
    try:
        async for chunk in request.stream():
            content += chunk
            if len(content) > limit:
                raise too_large
    except ClientDisconnect as gone:
        raise Refused(400, "request.incomplete", "the body did not arrive as a whole") from gone
    return bytes(content)


def _refusal(error: ValidationError) -> Refused:
    found: list[dict[str, str]] = []
    for item in error.errors(include_url=False, include_context=False, include_input=False)[:_MOST_ERRORS]:
        if item["type"] == "json_invalid":
            return Refused(400, "request.malformed", "the body is no JSON that can be read")
        field = "/".join(["", *(str(part) for part in item["loc"])])
        found.append({"field": field, "detail": _said(item)})
    first = found[0]
    where = f"{first['field']}: " if first["field"] else ""
    return Refused(400, "request.invalid", f"{where}{first['detail']}", errors=found)


def _said(item: Any) -> str:
    # A message of the application's own validator may quote what it was given.
    is_own = item["type"] in ("value_error", "assertion_error")
    return "it is not accepted" if is_own else str(item["msg"])
