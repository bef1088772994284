"""A manifest as frozen values: the fields that are compared, and no others.

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

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flowx_compiler.diff.versions import major


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
