"""Reads the body of a request as a contract, or says which member is wrong without quoting it."""

from __future__ import annotations

import json
from math import isinf
from typing import Any, Final, NoReturn, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core.core_schema import ErrorType
from starlette.requests import ClientDisconnect, Request

from flowx_runtime.engine.declared import place_in
from flowx_runtime.http.problems import Refused

T = TypeVar("T")

_MOST_ERRORS: Final = 20
_OF_PYDANTIC: Final = frozenset(get_args(ErrorType))
"""Kinds of errors whose words are pydantic's. Those of the application's validators may quote what they were given."""
_QUOTING: Final = frozenset(
    {
        *("value_error", "assertion_error", "union_tag_invalid", "uuid_parsing"),
        *("mapping_type", "iteration_error", "get_attribute_error"),
    }
)


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
    _refuse_what_is_no_json(content)
    try:
        value: T = TypeAdapter(contract).validate_json(content)
    except ValidationError as error:
        raise _refusal(contract, error) from None
    except Exception:  # a validator of the application's; what it says may quote the body
        raise Refused(400, "request.invalid", "the body is not accepted") from None
    return value


def _refuse_what_is_no_json(content: bytes) -> None:
    """Refuse what JSON does not know and parsers take all the same, such as NaN and numbers beyond any float."""
    try:
        json.loads(content.decode(), parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Refused(400, "request.malformed", "the body is no JSON that can be read") from None


def _no_number(_: str) -> NoReturn:
    raise ValueError


def _finite(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError
    return number


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


def _refusal(contract: Any, error: ValidationError) -> Refused:
    found: list[dict[str, str]] = []
    for item in error.errors(include_url=False, include_context=False, include_input=False)[:_MOST_ERRORS]:
        if item["type"] == "json_invalid":
            return Refused(400, "request.malformed", "the body is no JSON that can be read")
        field = "/".join(["", *place_in(contract, item["loc"])])
        found.append({"field": field, "detail": _said(item)})
    first = found[0]
    where = f"{first['field']}: " if first["field"] else ""
    return Refused(400, "request.invalid", f"{where}{first['detail']}", errors=found)


def _said(item: Any) -> str:
    is_quoted = item["type"] not in _OF_PYDANTIC or item["type"] in _QUOTING
    return "it is not accepted" if is_quoted else str(item["msg"])
