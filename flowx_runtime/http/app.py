"""Makes the application."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as HttpRoute

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.host.flow_host import FlowHost
from flowx_runtime.http.authentication import Authenticator, nobody
from flowx_runtime.http.endpoints import FlowEndpoints, correlation_of, refuse
from flowx_runtime.http.openapi import openapi
from flowx_runtime.http.problems import Refused, problem

_LOG = logging.getLogger("flowx.http")

BODY_LIMIT = 1 << 20
"""Bytes a body may have, unless the host says otherwise."""


class RouteTaken(FlowxError):
    """Two flows want one route."""

    code = "http.route_taken"


def create_app(
    host: FlowHost,
    *,
    manifest: Mapping[str, Any] | None = None,
    authenticate: Authenticator = nobody,
    body_limit: int = BODY_LIMIT,
) -> Starlette:
    """An ASGI application with the routes of every flow that a request starts, to mount or to serve.

    Per route: `POST {route}` starts, `GET {route}/{id}` says how an instance stands, `POST
    {route}/{id}/signals/{identity}` delivers. `GET /openapi.json` describes them all. The host must be entered by
    whoever serves the application.

    Args:
        host: runs the flows.
        manifest: the application's manifest, for the schemas of `/openapi.json`; without it bodies are not described.
        authenticate: who sends a request.
        body_limit: bytes a body may have.

    Raises:
        RouteTaken: two flows want one route.
    """
    routes: list[HttpRoute] = []
    taken: dict[tuple[str, str], str] = {}
    served = [(plan, route) for plan in host.current_plans for route in plan.routes]
    for plan, route in served:
        other = taken.setdefault((route.method, route.path), plan.flow_id)
        if other != plan.flow_id:
            raise RouteTaken(f"{other!r} and {plan.flow_id!r} both want {route.method} {route.path}: give one another")
        flow = FlowEndpoints(host, plan, route, authenticate=authenticate, body_limit=body_limit)
        routes.append(HttpRoute(route.path, flow.start, methods=[route.method]))
        routes.append(HttpRoute(f"{route.path}/{{instance_id}}", flow.look, methods=["GET"]))
        routes += [
            HttpRoute(f"{route.path}/{{instance_id}}/signals/{signal.id}", flow.deliver(signal), methods=["POST"])
            for signal in flow.signals
        ]
    document = openapi(served, manifest)

    async def describe(_: Request) -> Response:
        return JSONResponse(document)

    routes.append(HttpRoute("/openapi.json", describe, methods=["GET"]))
    app = Starlette(routes=routes, exception_handlers=_handlers())
    app.router.redirect_slashes = False  # a path with a slash more is another path, and nothing is served there
    return app


def _handlers() -> dict[Any, Callable[[Request, Exception], Response]]:
    return {Refused: refuse, FlowxError: refuse, HTTPException: _of_the_router, Exception: _unexpected}


def _of_the_router(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, detail = {
        404: ("request.no_route", "nothing is served here"),
        405: ("request.method", "this path is not served by this method"),
    }.get(error.status_code, ("request.refused", str(error.detail)))
    answer = problem(error.status_code, code, detail, correlation_of(request))
    answer.headers.update(error.headers or {})
    return answer


def _unexpected(request: Request, error: Exception) -> Response:
    correlation_id = correlation_of(request)
    _LOG.error("a request failed (correlation %s): %s", correlation_id, type(error).__name__)
    return problem(500, "http.unexpected", "", correlation_id)
