"""A capability that holds a transport.

What it detects: a constructor parameter, class-level annotation or attribute assigned in `__init__`
whose type comes from an HTTP, message broker, cloud queue or RPC library.

Why it matters: The same capability runs behind HTTP, a schedule, a sub-flow or a test. One that
talks to a transport itself runs behind that one only, and its retries and deadlines are the
library's and not the plan's.

What it cannot prove: a transport that is not in the list, or one used inside a method only.

When to suppress: The capability is itself the adapter of an outside system and nothing else: say
so.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.check.own_code import held
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Finding, Place
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule
from flowx_compiler.syntax import Attribute, Name, Span, walk

RULE = Rule("FLOWX1003", "capability-holds-a-transport", ERROR)

INVALID = (
    Example(
        """\
flow.step(Fetch)
""",
        module="""\
import httpx


@capability("example.fetch", version="1.0.0", authorization=Internal(), idempotent=True)
class Fetch:
    def __init__(self, client: httpx.AsyncClient) -> None:  # <-
        self._client = client

    async def execute(self, request: PlaceOrder, ctx: StepContext) -> ManualReview:
        return ManualReview(ticket="t")
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(Fetch)
""",
        module="""\
from typing import Protocol


class Tickets(Protocol):
    async def open(self, order_id: str) -> str: ...


@capability("example.fetch", version="1.0.0", authorization=Internal(), idempotent=True)
class Fetch:
    def __init__(self, tickets: Tickets) -> None:
        self._tickets = tickets

    async def execute(self, request: PlaceOrder, ctx: StepContext) -> ManualReview:
        return ManualReview(ticket=await self._tickets.open(request.order_id))
""",
    ),
)


_TRANSPORTS = (
    "aio_pika",
    "aiohttp",
    "aiokafka",
    "azure.servicebus",
    "celery",
    "confluent_kafka",
    "django.http",
    "fastapi",
    "flask",
    "google.cloud.pubsub",
    "grpc",
    "http.client",
    "httpx",
    "kafka",
    "kombu",
    "nats",
    "paho.mqtt",
    "pika",
    "requests",
    "starlette",
    "urllib.request",
    "urllib3",
)
"""Packages whose objects tie a capability to one way in or out."""


def check(program: Program) -> Iterator[Finding]:
    """Every dependency of a capability class that is a transport's."""
    for capability in program.capabilities.values():
        seen: set[Span] = set()
        for expression, span in () if capability.owner is None else held(capability.owner):
            for node in walk(expression):
                name = qualified(program, capability.module, node) if isinstance(node, Name | Attribute) else None
                transport = None if name is None else _transport(name)
                if transport is None or span in seen:
                    continue
                seen.add(span)
                yield RULE.finding(
                    Place(program.modules[capability.module].file, span),
                    f"capability {capability.id!r} holds `{name}`, which belongs to the transport {transport}",
                    label="ties it to one transport",
                    help="give it a port: a small class of the project that says what it needs in the domain's words",
                )


def _transport(name: str) -> str | None:
    return next((prefix for prefix in _TRANSPORTS if name == prefix or name.startswith(f"{prefix}.")), None)
