"""A manifest as frozen values: the fields that are compared, and no others.

Reading is tolerant where the schema is closed: a field this version does not know is skipped, so that an older tool
reads a newer minor. Everything under `extensions` is skipped always.

The document, as `schemas/flowx.manifest.schema.json` has it (`?` = left out when there is nothing to say):

- root: `schemaVersion`, `application {name, version?}`, `flows[]`, `capabilities[]`, `events[]?`, `signals[]?`,
  `errors[]?`, `contracts {name: shape}`, `extensions?`
- type reference: `{type, sensitive[]?}`; `type` is a key of `contracts`
- flow: `id`, `version`, `profile` (Ephemeral, Durable, Streaming), `owner?`, `deadline?`, `input?`, `output?`,
  `planDigest`, `retiredPlans[]? {version, planDigest}`, `triggers[]?`, `steps[]`, `emits[]?`, `errors[]?`, `source?`
- trigger: `kind` (Manual, Http, Bus, Schedule, Stream, Change, Agent, Cli), `method?`, `route?`, `idempotent?`,
  `transport?`, `topic?`, `group?`, `cron?`, `timeZone?`, `description?`, `confirmation?` (Never,
  RequiredForSideEffects, Always)
- step: `id` (the index in the plan), `kind` (Capability, Emit, Condition, Switch, Parallel, ForEach, SubFlow,
  AwaitSignal, Delay, Poll, Fail), `name?`, `capability?`, `compensation?`, `event?`, `flow?`, `mode?` (Inline,
  Detached), `policies[]? {kind, stage}`, `merge?` (AllMustSucceed, AllSettled, FirstSuccess, Quorum), `signal?`,
  `timeout?`, `branches[][]?` of step
- capability: `id`, `version`, `input?`, `output?` (references), `authorization {mode, value?, approvedBy?}`,
  `idempotent`, `sideEffects[]?`, `errors[]?` (codes; absent = withheld, empty = none), `deprecated?`, `usedBy[]?`,
  `source?`
- event: `type`, `schemaVersion`, `contract?` (reference), `producedBy[]?`, `consumedBy[]?`
- signal: `id`, `contract` (reference); error: `code`, `category`
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from flowx_compiler.diff.errors import NotAManifest
from flowx_compiler.diff.versions import major

SCHEMA_MAJOR = 1
"""The newest major of the manifest's schema that this version reads."""

_LONGEST_VERSION = 200
"""Characters: far below the numbers that Python refuses to read."""

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TypeRef:
    """A contract as one place uses it."""

    type: str
    sensitive: tuple[str, ...] = ()
    """Sorted, as every set here is: equal documents are equal values, and print alike."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """A declared way of starting a flow."""

    kind: str = ""
    method: str = ""
    route: str = ""
    transport: str = ""
    topic: str = ""
    cron: str = ""
    idempotent: bool | None = None
    time_zone: str = ""
    confirmation: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step, with the steps inside it."""

    kind: str
    name: str = ""
    capability: str = ""
    compensation: str = ""
    flow: str = ""
    mode: str = ""
    merge: str = ""
    signal: str = ""
    timeout: str = ""
    branches: tuple[tuple[Step, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """One version of a flow."""

    id: str
    version: str
    profile: str = ""
    deadline: str = ""
    input: TypeRef | None = None
    output: TypeRef | None = None
    plan_digest: str = ""
    retired_plans: Mapping[str, str] = field(default_factory=dict)
    """Digest by version, for the older plans that can still be loaded."""
    triggers: tuple[Trigger, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def key(self) -> str:
        """The unit of compatibility."""
        return f"{self.id}@{major(self.version)}"


@dataclass(frozen=True, slots=True)
class Capability:
    """One version of a capability."""

    id: str
    version: str
    input: TypeRef | None = None
    output: TypeRef | None = None
    mode: str = ""
    """Of its authorization."""
    mode_value: str = ""
    idempotent: bool = False
    side_effects: tuple[str, ...] = ()
    errors: tuple[str, ...] | None = None
    """`None`: the catalogue is withheld."""
    deprecated: str = ""

    @property
    def key(self) -> str:
        """The unit of compatibility."""
        return f"{self.id}@{major(self.version)}"


@dataclass(frozen=True, slots=True)
class Event:
    """One version of an event."""

    id: str
    version: str
    contract: TypeRef | None = None

    @property
    def key(self) -> str:
        """The unit of compatibility."""
        return f"{self.id}@{major(self.version)}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one application promises."""

    schema_version: str
    application: str = ""
    application_version: str = ""
    flows: tuple[Flow, ...] = ()
    capabilities: tuple[Capability, ...] = ()
    events: tuple[Event, ...] = ()
    signals: Mapping[str, TypeRef] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    """Category by code."""
    contracts: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema by contract name."""


def read_manifest(text: str | bytes, name: str) -> Manifest:
    """The manifest in a text.

    Args:
        text: the document.
        name: what a sentence about it calls it, for example its path.

    Raises:
        NotAManifest: it is not JSON, not a manifest, or of a newer major.
    """
    document = _parse(text, name)
    try:
        return _manifest(document)
    except _Odd as odd:
        raise NotAManifest(f"{name} is not a flowx manifest: {odd}; give the file that `flowx build` wrote") from None
    except RecursionError:
        raise NotAManifest(f"{name} is nested too deeply to be a flowx manifest") from None


class _Odd(Exception):
    """Where a document is not what a manifest has there."""


def _parse(text: str | bytes, name: str) -> Json:
    try:
        decoded = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        document = json.loads(decoded, object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError:
        raise NotAManifest(f"{name} is not UTF-8 text: give the file that `flowx build` wrote") from None
    except json.JSONDecodeError as error:
        ended = error.msg.startswith("Unterminated") or error.pos >= len(decoded.rstrip())
        what = "ends in the middle" if ended else f"is not JSON at line {error.lineno}, column {error.colno}"
        raise NotAManifest(f"{name} {what}: run `flowx build` again, or fetch the whole file") from None
    except _Odd as odd:
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
        raise _Odd(f"has the key {twice!r} twice in one object")
    return members


def _no_number(word: str) -> float:
    raise _Odd(f"holds {word}, which is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Odd(f"holds the number {text[:20]}, which is too large to compare")
    return value


def _manifest(document: Json) -> Manifest:
    application = document.get("application")
    named = application if isinstance(application, dict) else {}
    return Manifest(
        schema_version=_text(document, "schemaVersion"),
        application=_text(named, "name"),
        application_version=_text(named, "version"),
        flows=tuple(_flow(item) for item in _objects(document, "flows", needed=True) if item.get("id")),
        capabilities=tuple(
            _capability(item) for item in _objects(document, "capabilities", needed=True) if item.get("id")
        ),
        events=tuple(
            Event(_text(item, "type"), _version(item, "schemaVersion"), _type_ref(item, "contract"))
            for item in _objects(document, "events")
            if item.get("type")
        ),
        signals={
            _text(item, "id"): contract
            for item in _objects(document, "signals")
            if (contract := _type_ref(item, "contract")) is not None
        },
        errors={_text(item, "code"): _text(item, "category") for item in _objects(document, "errors")},
        contracts=_object(document, "contracts"),
    )


def _flow(item: Json) -> Flow:
    return Flow(
        id=_text(item, "id"),
        version=_version(item, "version"),
        profile=_text(item, "profile"),
        deadline=_text(item, "deadline"),
        input=_type_ref(item, "input"),
        output=_type_ref(item, "output"),
        plan_digest=_text(item, "planDigest"),
        retired_plans={_version(plan, "version"): _text(plan, "planDigest") for plan in _objects(item, "retiredPlans")},
        triggers=tuple(_trigger(trigger) for trigger in _objects(item, "triggers")),
        steps=tuple(_step(step) for step in _objects(item, "steps")),
    )


def _trigger(item: Json) -> Trigger:
    return Trigger(
        kind=_text(item, "kind"),
        method=_text(item, "method"),
        route=_text(item, "route"),
        transport=_text(item, "transport"),
        topic=_text(item, "topic"),
        cron=_text(item, "cron"),
        idempotent=_flag(item, "idempotent"),
        time_zone=_text(item, "timeZone"),
        confirmation=_text(item, "confirmation"),
    )


def _step(item: Json) -> Step:
    branches = item.get("branches", [])
    if not isinstance(branches, list) or not all(isinstance(branch, list) for branch in branches):
        raise _Odd("`branches` is not a list of lists")
    return Step(
        kind=_text(item, "kind") or "Capability",
        name=_text(item, "name"),
        capability=_text(item, "capability"),
        compensation=_text(item, "compensation"),
        flow=_text(item, "flow"),
        mode=_text(item, "mode"),
        merge=_text(item, "merge"),
        signal=_text(item, "signal"),
        timeout=_text(item, "timeout"),
        branches=tuple(tuple(_step(step) for step in _each(branch, "branches")) for branch in branches),
    )


def _capability(item: Json) -> Capability:
    stance = _object(item, "authorization")
    return Capability(
        id=_text(item, "id"),
        version=_version(item, "version"),
        input=_type_ref(item, "input"),
        output=_type_ref(item, "output"),
        mode=_text(stance, "mode"),
        mode_value=_text(stance, "value"),
        idempotent=_flag(item, "idempotent") is True,
        side_effects=_set(item, "sideEffects"),
        errors=_set(item, "errors") if "errors" in item else None,
        deprecated=_text(item, "deprecated"),
    )


def _type_ref(item: Json, key: str) -> TypeRef | None:
    reference = _object(item, key)
    return TypeRef(_text(reference, "type"), _set(reference, "sensitive")) if reference else None


def _text(item: Json, key: str) -> str:
    value = item.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Odd(f"`{key}` is not a text")
    return value


def _version(item: Json, key: str) -> str:
    version = _text(item, key)
    if len(version) > _LONGEST_VERSION:
        raise _Odd(f"`{key}` is not a version")
    return version


def _flag(item: Json, key: str) -> bool | None:
    value = item.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise _Odd(f"`{key}` is not true or false")


def _set(item: Json, key: str) -> tuple[str, ...]:
    value = item.get(key) or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise _Odd(f"`{key}` is not a list of texts")
    return tuple(sorted(set(value)))


def _object(item: Json, key: str) -> Json:
    value = item.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Odd(f"`{key}` is not an object")
    return value


def _objects(item: Json, key: str, *, needed: bool = False) -> Iterator[Json]:
    value = item.get(key)
    if value is None and not needed:
        return iter(())
    if not isinstance(value, list):
        raise _Odd(f"`{key}` is not a list" if key in item else f"it has no `{key}`")
    return _each(value, key)


def _each(items: list[Any], key: str) -> Iterator[Json]:
    for item in items:
        if not isinstance(item, dict):
            raise _Odd(f"an entry of `{key}` is not an object")
        yield item
