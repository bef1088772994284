"""What each route does: start, deliver, look."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final
from uuid import UUID, uuid4

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from flowx_runtime.authoring.authorization import Anonymous, Caller
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.engine.authority import NotAuthenticated, is_open_to_anybody, refusal_at_start
from flowx_runtime.engine.identity import started_id
from flowx_runtime.host.errors import NotRunnable
from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.http import answers
from flowx_runtime.http.authentication import Authenticator
from flowx_runtime.http.bodies import read_contract
from flowx_runtime.http.problems import Refused, problem, status_of_refusal
from flowx_runtime.journal.records import History
from flowx_runtime.plan.nodes import AwaitSignal, Poll
from flowx_runtime.plan.plan import Plan
from flowx_runtime.plan.routes import Route
from flowx_runtime.plan.uses import SignalUse

_LOG = logging.getLogger("flowx.http")
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")
_LONGEST_NAME: Final = 200
_CORRELATION: Final = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class FlowEndpoints:
    """The routes of one flow."""

    def __init__(
        self, host: FlowHost, plan: Plan[Any, Any], route: Route, *, authenticate: Authenticator, body_limit: int
    ) -> None:
        self._host = host
        self._plan = plan
        self._route = route
        self._authenticate = authenticate
        self._body_limit = body_limit
        self.signals = signals_of(plan)

    async def start(self, request: Request) -> Response:
        """Start the flow, and answer as soon as it has ended or parked."""
        caller = await self._caller(request)
        refused = refusal_at_start(self._plan, caller, self._host.find_plan)
        if refused is not None:
            # Before the body is read: who may not start it is not told what is wrong with it.
            raise Refused(401 if isinstance(refused, NotAuthenticated) else 403, refused.code, str(refused))
        key = self._key(request, caller)
        input = await read_contract(request, self._plan.input, limit=self._body_limit)
        correlation_id = correlation_of(request)
        try:
            outcome = await self._host.run(
                self._plan, input, idempotency_key=key, caller=caller, correlation_id=correlation_id
            )
        except NotRunnable:
            if key is None:
                raise
            # A node of another version has run it, in a rolling release: what it gave is in the journal all the same.
            history = await self._host.inspect(started_id(self._plan.flow_id, None, key))
            return answers.completed_elsewhere(history.instance)
        return answers.started(outcome, _base(request, self._route), correlation_id)

    async def look(self, request: Request) -> Response:
        """Say how an instance stands."""
        await self._admit(request)
        return answers.state(await self._instance(request), _base(request, self._route))

    def deliver(self, signal: SignalUse) -> Callable[[Request], Any]:
        """Deliver a signal to an instance."""

        async def delivering(request: Request) -> Response:
            caller = await self._admit(request)
            instance_id = (await self._instance(request)).instance.instance_id
            message = await read_contract(request, signal.type, limit=self._body_limit)
            given = _given_key(request)
            delivery_id = None if given is None else f"{whose(caller)}/{signal.id}/{given}"
            await self._host.signal(instance_id, message, delivery_id=delivery_id)
            history = await self._host.inspect(instance_id)
            return answers.delivered(instance_id, history, _base(request, self._route))

        return delivering

    async def _caller(self, request: Request) -> Caller:
        try:
            return await self._authenticate(request) or Anonymous()
        except HTTPException:  # an answer of its own choice
            raise
        except Exception as error:  # what it says may hold a token
            _LOG.error("the authenticator failed (correlation %s): %s", correlation_of(request), type(error).__name__)
            raise Refused(500, "http.unexpected", "who asks could not be told") from None

    async def _admit(self, request: Request) -> Caller:
        """Let in who is signed in; anybody, where anybody may start the flow."""
        caller = await self._caller(request)
        if isinstance(caller, Anonymous) and not is_open_to_anybody(self._plan, self._host.find_plan):
            raise Refused(401, NotAuthenticated.code, "an instance of this flow is for signed-in callers")
        return caller

    def _key(self, request: Request, caller: Caller) -> str | None:
        """The key that makes a repeated start one start: the caller's own, so that nobody is given another's answer."""
        given = _given_key(request)
        if not self._route.idempotent:
            return None
        if given is None:
            raise Refused(400, "request.idempotency_key", "send an Idempotency-Key header with this request")
        return f"{whose(caller)}/{given}"

    async def _instance(self, request: Request) -> History:
        """The instance of this flow that the path names."""
        unknown = Refused(404, "flow.unknown_instance", "there is no such instance of this flow")
        try:
            instance_id = UUID(request.path_params["instance_id"])
        except ValueError as error:
            raise unknown from error
        history = await self._host.inspect(instance_id)
        if history.instance.flow_id != self._plan.flow_id:
            raise unknown
        return history


def signals_of(plan: Plan[Any, Any]) -> tuple[SignalUse, ...]:
    """Every signal that a wait of the flow takes."""
    found: dict[str, SignalUse] = {}
    for node in plan.nodes:
        if isinstance(node, AwaitSignal | Poll) and node.signal is not None:
            found.setdefault(node.signal.id, node.signal)
    return tuple(found.values())


def _given_key(request: Request) -> str | None:
    given = request.headers.get("idempotency-key")
    if given is not None and not _KEY.fullmatch(given):
        raise Refused(400, "request.idempotency_key", "an Idempotency-Key is 1 to 200 visible characters")
    return given


def whose(caller: Caller) -> str:
    """What the keys of one caller begin with, and those of no other: a name may hold what separates it from a key."""
    if isinstance(caller, Anonymous):
        return "anonymous"
    name = caller.name.replace("%", "%25").replace("/", "%2F")
    if len(name) > _LONGEST_NAME or not name.isprintable():
        name = f"%sha256:{sha256(caller.name.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return f"principal/{name}"


def correlation_of(request: Request) -> str:
    """What ties records to a request: what the client says, if it is harmless, else something new."""
    kept: str | None = getattr(request.state, "correlation_id", None)
    if kept is None:
        given = request.headers.get("x-correlation-id", "")
        kept = given if _CORRELATION.fullmatch(given) else uuid4().hex
        request.state.correlation_id = kept
    return kept


def refuse(request: Request, error: Exception) -> Response:
    """The answer to a request that came to an exception we know."""
    correlation_id = correlation_of(request)
    if isinstance(error, Refused):
        return problem(error.status, error.code, error.detail, correlation_id, errors=error.errors)
    assert isinstance(error, FlowxError)
    return problem(status_of_refusal(error), error.code, str(error), correlation_id)


def _base(request: Request, route: Route) -> str:
    """The route's path as the client sees it, under whatever the application is mounted at."""
    return f"{request.scope.get('root_path', '').rstrip('/')}{route.path}"
