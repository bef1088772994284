"""Types that are one value on the wire, by qualified name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flowx_compiler.contracts.shape import ANYTHING, NULL, Kind, Shape
from flowx_compiler.contracts.where import NO_RULES, TextRules

_INTEGER = {"type": "integer"}
_NUMBER = {"type": "number"}
_TEXT = Shape({"type": "string"}, Kind.TEXT)
_BINARY = {"format": "binary", "type": "string"}


def _text(format_: str, **more: Any) -> Shape:
    return Shape({"format": format_, "type": "string", **more}, Kind.SIZED_TEXT)


def _temporal(format_: str) -> Shape:
    return Shape({"format": format_, "type": "string"}, Kind.TEMPORAL)


def _limited(schema: dict[str, Any], **limit: int) -> Shape:
    return Shape({**schema, **limit}, Kind.NUMBER)


_SIGNS = {
    "Positive": {"exclusiveMinimum": 0},
    "Negative": {"exclusiveMaximum": 0},
    "NonNegative": {"minimum": 0},
    "NonPositive": {"maximum": 0},
}
_URI = ("AnyUrl", "AnyHttpUrl", "FileUrl", "FtpUrl", "AnyWebsocketUrl", "CockroachDsn", "AmqpDsn", "RedisDsn")
_URI_TOO = ("KafkaDsn", "MySQLDsn", "MariaDBDsn", "ClickHouseDsn", "SnowflakeDsn")
_PYDANTIC: Mapping[str, Shape] = {
    **dict.fromkeys((*_URI, *_URI_TOO), _text("uri", minLength=1)),
    **dict.fromkeys(("HttpUrl", "WebsocketUrl"), _text("uri", minLength=1, maxLength=2083)),
    **dict.fromkeys(("PostgresDsn", "MongoDsn", "NatsDsn"), _text("multi-host-uri", minLength=1)),
    "EmailStr": _text("email"),
    "NameEmail": _text("name-email"),
    "IPvAnyAddress": _text("ipvanyaddress"),
    "IPvAnyInterface": _text("ipvanyinterface"),
    "IPvAnyNetwork": _text("ipvanynetwork"),
    **{f"UUID{version}": _text(f"uuid{version}") for version in (1, 3, 4, 5, 6, 7, 8)},
    "FilePath": _text("file-path"),
    "DirectoryPath": _text("directory-path"),
    "NewPath": _text("path"),
    **dict.fromkeys(("SecretStr", "SecretBytes"), _text("password", writeOnly=True)),
    **dict.fromkeys(("Base64Bytes", "Base64Str"), _text("base64")),
    **dict.fromkeys(("Base64UrlBytes", "Base64UrlStr"), _text("base64url")),
    **dict.fromkeys(("PastDate", "FutureDate"), _temporal("date")),
    **dict.fromkeys(("PastDatetime", "FutureDatetime", "AwareDatetime", "NaiveDatetime"), _temporal("date-time")),
    "StrictStr": _TEXT,
    "StrictBool": Shape({"type": "boolean"}),
    "StrictBytes": Shape(_BINARY, Kind.SIZED_TEXT),
    "StrictInt": _limited(_INTEGER),
    **dict.fromkeys(("StrictFloat", "FiniteFloat"), _limited(_NUMBER)),
    **{f"{sign}Int": _limited(_INTEGER, **limit) for sign, limit in _SIGNS.items()},
    **{f"{sign}Float": _limited(_NUMBER, **limit) for sign, limit in _SIGNS.items()},
}
_SCALARS: Mapping[str, Shape] = {
    "None": NULL,
    "types.NoneType": NULL,
    "typing.Any": ANYTHING,
    "builtins.object": ANYTHING,
    "builtins.str": _TEXT,
    "builtins.bytes": Shape(_BINARY, Kind.SIZED_TEXT),
    "builtins.int": Shape(_INTEGER, Kind.NUMBER),
    "builtins.float": Shape(_NUMBER, Kind.NUMBER),
    "builtins.bool": Shape({"type": "boolean"}),
    "decimal.Decimal": Shape({"anyOf": [_NUMBER, {"type": "string"}]}, Kind.DECIMAL),
    "datetime.date": _temporal("date"),
    "datetime.time": _temporal("time"),
    "datetime.datetime": _temporal("date-time"),
    "datetime.timedelta": _temporal("duration"),
    "uuid.UUID": _text("uuid"),
    **{f"pathlib.{name}": _text("path") for name in ("Path", "PurePath", "PosixPath", "PurePosixPath")},
    "re.Pattern": _text("regex"),
    "typing.Pattern": _text("regex"),
    **{f"ipaddress.IPv{version}Address": _text(f"ipv{version}") for version in (4, 6)},
    **{
        f"ipaddress.IPv{version}{what}": _text(f"ipv{version}{what.lower()}")
        for version in (4, 6)
        for what in ("Network", "Interface")
    },
    **{f"pydantic.{name}": shape for name, shape in _PYDANTIC.items()},
    **{f"pydantic.types.{name}": shape for name, shape in _PYDANTIC.items()},
    **{f"pydantic.networks.{name}": shape for name, shape in _PYDANTIC.items()},
}
_RULED = frozenset(
    (
        *("str", "StrictStr", "SecretStr", "EmailStr", "NameEmail", "Base64Str", "Base64UrlStr"),
        *("Path", "PurePath", "PosixPath", "PurePosixPath", "FilePath", "DirectoryPath", "NewPath"),
    )
)
"""Types that are texts to pydantic, so that what a model says of texts holds for them."""


def scalar(name: str, texts: TextRules) -> Shape | None:
    """The shape of a type that is one value; `None` for any other type.

    Args:
        name: qualified.
        texts: what the model around it says of texts.
    """
    known = _SCALARS.get(name)
    if known is None or texts == NO_RULES:
        return known
    short = name.rpartition(".")[2]
    if short in ("bytes", "StrictBytes"):
        return replace(known, schema={**known.schema, "format": texts.bytes_format})
    if short not in _RULED:
        return known
    limits = {"minLength": texts.shortest or None, "maxLength": texts.longest}
    return replace(known, schema=known.schema | {word: said for word, said in limits.items() if said is not None})
