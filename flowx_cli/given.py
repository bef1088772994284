"""JSON that a person gives on the command line, as a value of a contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from flowx_compiler.errors import UsageProblem


def given_value(contract: type[Any], text: str, what: str) -> Any:
    """The value that a text, or the file that `@file` names, holds. An error says which member, and never quotes it.

    Args:
        contract: what it has to be.
        text: JSON, or `@` and a path.
        what: how an error names it, such as `the input of order.place`.

    Raises:
        UsageProblem: the file cannot be read, or it is not the contract.
    """
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageProblem(f"the file {text[1:]!r} cannot be read: {reason}") from error
    try:
        return TypeAdapter(contract).validate_json(text)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        problems = "; ".join(f"{'.'.join(map(str, item['loc'])) or 'the document'}: {_said(item)}" for item in found)
        raise UsageProblem(f"this is not {what}: {problems}") from None


def _said(item: Any) -> str:
    # A message of the application's own validator may quote what it was given.
    is_own = item["type"] in ("value_error", "assertion_error")
    return "it is not accepted" if is_own else str(item["msg"])
