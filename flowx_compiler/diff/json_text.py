"""JSON text as a document, and its fields by kind; what is not as it should be is refused in a sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from flowx_compiler.diff.errors import NotAManifest
from flowx_compiler.diff.versions import major

SCHEMA_MAJOR = 1
"""The newest major of the manifest's schema that this version reads."""

_LONGEST_VERSION = 200
"""Characters: far below the numbers that Python refuses to read."""

Json: TypeAlias = Mapping[str, Any]


class Odd(Exception):
    """Where a document is not what a manifest has there."""


def parse(text: str | bytes, name: str) -> Json:
    """The document in a text, of a schema that this version reads.

    Raises:
        NotAManifest: it is damaged, something else, or of a newer major.
    """
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        document = json.loads(decoded, object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError:
        raise NotAManifest(f"{name} is not UTF-8 text: give the file that `flowx build` wrote") from None
    except json.JSONDecodeError as error:
        ended = error.msg.startswith("Unterminated") or error.pos >= len(decoded.rstrip())
        what = "ends in the middle" if ended else f"is not JSON at line {error.lineno}, column {error.colno}"
        raise NotAManifest(f"{name} {what}: run `flowx build` again, or fetch the whole file") from None
    except Odd as odd:
        raise NotAManifest(f"{name} {odd}: run `flowx build` again, or fetch the whole file") from None
    except RecursionError:
        raise NotAManifest(f"{name} is nested too deeply to be a flowx manifest") from None
    except ValueError:
        raise NotAManifest(f"{name} holds a number too long to be read: run `flowx build` again") from None
    if not isinstance(document, dict) or not isinstance(document.get("schemaVersion"), str):
        raise NotAManifest(
            f"{name} is JSON but not a flowx manifest (it has no schemaVersion): give the file that `flowx build` wrote"
        )
    version = document["schemaVersion"]
    if not major(version).isdecimal() or len(version) > _LONGEST_VERSION:
        raise NotAManifest(
            f"{name} has the schema version {version[:40]!r}, which is no version: run `flowx build` again"
        )
    if int(major(version)) > SCHEMA_MAJOR:
        raise NotAManifest(
            f"{name} has schema version {version}, newer than the {SCHEMA_MAJOR}.x this flowx reads: upgrade flowx"
        )
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's members. JSON leaves open which of two equal keys counts, so neither can be trusted."""
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Odd(f"has the key {twice!r} twice in one object")
    return members


def _no_number(word: str) -> float:
    raise Odd(f"holds {word}, which is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Odd(f"holds the number {text[:20]}, which is too large to compare")
    return value


def text_of(item: Json, key: str) -> str:
    value = item.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Odd(f"`{key}` is not a text")
    return value


def version_of(item: Json, key: str) -> str:
    version = text_of(item, key)
    if len(version) > _LONGEST_VERSION:
        raise Odd(f"`{key}` is not a version")
    return version


def flag_of(item: Json, key: str) -> bool | None:
    value = item.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise Odd(f"`{key}` is not true or false")


def set_of(item: Json, key: str) -> tuple[str, ...]:
    value = item.get(key) or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise Odd(f"`{key}` is not a list of texts")
    return tuple(sorted(set(value)))


def object_of(item: Json, key: str) -> Json:
    value = item.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Odd(f"`{key}` is not an object")
    return value


def objects_of(item: Json, key: str, *, needed: bool = False) -> Iterator[Json]:
    value = item.get(key)
    if value is None and not needed:
        return iter(())
    if not isinstance(value, list):
        raise Odd(f"`{key}` is not a list" if key in item else f"it has no `{key}`")
    return each(value, key)


def each(items: list[Any], key: str) -> Iterator[Json]:
    for item in items:
        if not isinstance(item, dict):
            raise Odd(f"an entry of `{key}` is not an object")
        yield item
