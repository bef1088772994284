"""flowx: durable workflows, compiled ahead of time, running on PostgreSQL.

This module is what an author and a service import from. Names resolve on first use, so that
importing `flowx_runtime.plan` alone (as the compiler does) loads no pydantic and no driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowx_runtime.names import resolver

if TYPE_CHECKING:
    from flowx_runtime.authoring.authorization import (
        Anonymous,
        Authenticated,
        Authorization,
        Caller,
        Internal,
        Permission,
        Principal,
        Public,
    )
    from flowx_runtime.authoring.backoff import Backoff
    from flowx_runtime.authoring.builder import FlowBuilder
    from flowx_runtime.authoring.capabilities import capability
    from flowx_runtime.authoring.contexts import FlowContext, StepContext
    from flowx_runtime.authoring.contracts import Contract, Sensitive
    from flowx_runtime.authoring.errors import FlowError, FlowxError
    from flowx_runtime.authoring.flows import Flow, flow
    from flowx_runtime.authoring.merge import Merge
    from flowx_runtime.authoring.messages import event, signal
    from flowx_runtime.authoring.policies import (
        Bulkhead,
        Cache,
        CircuitBreaker,
        Fallback,
        Hedge,
        PolicySet,
        RateLimit,
        Retry,
    )
    from flowx_runtime.authoring.triggers import ScheduledFire, cron_trigger, http_trigger
    from flowx_runtime.authoring.vocabulary import Category, MissedFire, Profile, SubFlowMode
    from flowx_runtime.engine.key_ring import KeyRing
    from flowx_runtime.host.flow_host import FlowHost
    from flowx_runtime.host.outcome import Completed, Failed, Outcome, Suspended
    from flowx_runtime.host.sync_host import SyncFlowHost
    from flowx_runtime.journal.memory.journal import MemoryJournal
    from flowx_runtime.journal.postgres.journal import PostgresJournal
    from flowx_runtime.outbox.envelope import Envelope
    from flowx_runtime.outbox.jetstream import NatsPublisher
    from flowx_runtime.outbox.jsonl import JsonlPublisher
    from flowx_runtime.outbox.publisher import Publisher, PublisherUnavailable, PublishRefused
    from flowx_runtime.outbox.settings import Publishing
    from flowx_runtime.outbox.signing import verify_webhook
    from flowx_runtime.outbox.webhook import WebhookPublisher
    from flowx_runtime.plan.plan import Plan

_HOME = {
    **dict.fromkeys(
        ("Anonymous", "Authenticated", "Authorization", "Caller", "Internal", "Permission", "Principal", "Public"),
        "authoring.authorization",
    ),
    "Backoff": "authoring.backoff",
    "FlowBuilder": "authoring.builder",
    "capability": "authoring.capabilities",
    **dict.fromkeys(("FlowContext", "StepContext"), "authoring.contexts"),
    **dict.fromkeys(("Contract", "Sensitive"), "authoring.contracts"),
    **dict.fromkeys(("FlowError", "FlowxError"), "authoring.errors"),
    **dict.fromkeys(("Flow", "flow"), "authoring.flows"),
    "Merge": "authoring.merge",
    **dict.fromkeys(("event", "signal"), "authoring.messages"),
    **dict.fromkeys(
        ("Bulkhead", "Cache", "CircuitBreaker", "Fallback", "Hedge", "PolicySet", "RateLimit", "Retry"),
        "authoring.policies",
    ),
    **dict.fromkeys(("ScheduledFire", "cron_trigger", "http_trigger"), "authoring.triggers"),
    **dict.fromkeys(("Category", "MissedFire", "Profile", "SubFlowMode"), "authoring.vocabulary"),
    "FlowHost": "host.flow_host",
    "KeyRing": "engine.key_ring",
    "SyncFlowHost": "host.sync_host",
    **dict.fromkeys(("Completed", "Failed", "Outcome", "Suspended"), "host.outcome"),
    "MemoryJournal": "journal.memory.journal",
    "PostgresJournal": "journal.postgres.journal",
    "Envelope": "outbox.envelope",
    "NatsPublisher": "outbox.jetstream",
    "JsonlPublisher": "outbox.jsonl",
    **dict.fromkeys(("Publisher", "PublisherUnavailable", "PublishRefused"), "outbox.publisher"),
    "Publishing": "outbox.settings",
    "verify_webhook": "outbox.signing",
    "WebhookPublisher": "outbox.webhook",
    "Plan": "plan.plan",
}

__all__ = [
    "Anonymous",
    "Authenticated",
    "Authorization",
    "Backoff",
    "Bulkhead",
    "Cache",
    "Caller",
    "Category",
    "CircuitBreaker",
    "Completed",
    "Contract",
    "Envelope",
    "Failed",
    "Fallback",
    "Flow",
    "FlowBuilder",
    "FlowContext",
    "FlowError",
    "FlowHost",
    "FlowxError",
    "Hedge",
    "Internal",
    "JsonlPublisher",
    "KeyRing",
    "MemoryJournal",
    "Merge",
    "MissedFire",
    "NatsPublisher",
    "Outcome",
    "Permission",
    "Plan",
    "PolicySet",
    "PostgresJournal",
    "Principal",
    "Profile",
    "Public",
    "PublishRefused",
    "Publisher",
    "PublisherUnavailable",
    "Publishing",
    "RateLimit",
    "Retry",
    "ScheduledFire",
    "Sensitive",
    "StepContext",
    "SubFlowMode",
    "Suspended",
    "SyncFlowHost",
    "WebhookPublisher",
    "capability",
    "cron_trigger",
    "event",
    "flow",
    "http_trigger",
    "signal",
    "verify_webhook",
]


__getattr__ = resolver(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
