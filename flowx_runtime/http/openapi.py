"""Describes the routes, with the manifest's own schemas (OpenAPI 3.1, whose schemas are JSON Schema 2020-12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from flowx_runtime.http.endpoints import signals_of
from flowx_runtime.plan.plan import Plan
from flowx_runtime.plan.routes import Route

_CONTRACTS: Final = "#/contracts/"
_SCHEMAS: Final = "#/components/schemas/"
_OF_FLOWX: Final = frozenset({"sensitive", "x-flowx-opaque"})
_REFUSALS: Final[Mapping[str, str]] = {
    "400": "The request is not valid, or the flow refused it as such.",
    "401": "The caller has to sign in.",
    "403": "The caller lacks a permission.",
    "404": "There is no such thing.",
    "409": "It conflicts with what is there.",
    "413": "The body is too large.",
    "415": "The body is not application/json.",
    "500": "Something failed here; what, is in the log.",
    "503": "Not available now.",
}
_TEXT: Final = {"type": "string"}


def openapi(served: Iterable[tuple[Plan[Any, Any], Route]], manifest: Mapping[str, Any] | None) -> dict[str, Any]:
    """The document.

    Args:
        served: every flow with a route of it.
        manifest: the application's manifest; without one bodies are any JSON.
    """
    contracts = {} if manifest is None else manifest.get("contracts", {})
    schemas = {name: _rewritten(schema) for name, schema in contracts.items()}
    paths: dict[str, Any] = {}
    for plan, route in served:
        paths.setdefault(route.path, {})[route.method.lower()] = _start(plan, route, schemas)
        paths[f"{route.path}/{{instanceId}}"] = {"parameters": [_INSTANCE], "get": _look(plan)}
        for signal in signals_of(plan):
            paths[f"{route.path}/{{instanceId}}/signals/{signal.id}"] = {
                "parameters": [_INSTANCE],
                "post": {
                    "operationId": f"{plan.flow_id}.deliver.{signal.id}",
                    "summary": f"Deliver {signal.id} to an instance of {plan.flow_id}.",
                    "parameters": [_key(is_required=False)],
                    "requestBody": _body(signal.type, schemas),
                    "responses": {
                        "202": _json("It was accepted; how the instance stands.", {"$ref": f"{_SCHEMAS}Standing"}),
                        **_refusals("400", "401", "404", "409", "413", "415", "500", "503"),
                    },
                },
            }
    name = None if manifest is None else manifest.get("application", {}).get("name")
    return {
        "openapi": "3.1.0",
        "info": {"title": name or "flowx", "version": "1.0.0"},
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Problem": _PROBLEM, "Standing": _STANDING},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}, {}],
    }


def _start(plan: Plan[Any, Any], route: Route, schemas: Mapping[str, Any]) -> dict[str, Any]:
    output = {"type": "null"} if plan.output is None else _schema_of(plan.output, schemas)
    parked = _json("It waits; where to deliver what it waits for.", {"$ref": f"{_SCHEMAS}Standing"})
    parked["headers"] = {"Location": {"schema": _TEXT, "description": "Where to go on."}}
    return {
        "operationId": f"{plan.flow_id}.start",
        "summary": f"Start {plan.flow_id}.",
        "parameters": [_key(is_required=route.idempotent)],
        "requestBody": _body(plan.input, schemas),
        "responses": {
            "200": _json("It has completed; what it gives.", output),
            "202": parked,
            **_refusals("400", "401", "403", "404", "409", "413", "415", "500", "503"),
        },
    }


def _look(plan: Plan[Any, Any]) -> dict[str, Any]:
    return {
        "operationId": f"{plan.flow_id}.look",
        "summary": f"How an instance of {plan.flow_id} stands.",
        "responses": {
            "200": _json("How it stands.", {"$ref": f"{_SCHEMAS}Standing"}),
            **_refusals("401", "404", "500", "503"),
        },
    }


def _body(contract: type[Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": _schema_of(contract, schemas)}}}


def _schema_of(contract: type[Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{contract.__module__}.{contract.__qualname__}"
    return {"$ref": f"{_SCHEMAS}{name}"} if name in schemas else {}


def _json(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": dict(schema)}}}


def _refusals(*statuses: str) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": {"$ref": f"{_SCHEMAS}Problem"}}}
    return {status: {"description": _REFUSALS[status], "content": content} for status in statuses}


def _rewritten(schema: Any) -> Any:
    """A schema of the manifest in the words of OpenAPI: references point to its components."""
    match schema:
        case dict():
            return {
                key: (
                    f"{_SCHEMAS}{value.removeprefix(_CONTRACTS)}"
                    if key == "$ref" and isinstance(value, str)
                    else _rewritten(value)
                )
                for key, value in schema.items()
                if key not in _OF_FLOWX
            }
        case list():
            return [_rewritten(item) for item in schema]
        case _:
            return schema


def _key(*, is_required: bool) -> dict[str, Any]:
    return {
        "name": "Idempotency-Key",
        "in": "header",
        "required": is_required,
        "description": "What makes a repeated request the same one.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
    }


_UUID: Final = {"type": "string", "format": "uuid"}
_INSTANCE: Final = {"name": "instanceId", "in": "path", "required": True, "schema": _UUID}
_WAIT: Final = {
    "type": "object",
    "properties": {"signal": _TEXT, "deliverTo": _TEXT},
    "required": ["signal", "deliverTo"],
}
_STANDING: Final = {
    "type": "object",
    "properties": {
        "instanceId": _UUID,
        "status": _TEXT,
        "awaiting": {"type": "array", "items": _WAIT, "description": "The waits that are open now."},
        "output": {},
        "error": {
            "type": "object",
            "properties": {"code": _TEXT, "category": _TEXT, "detail": _TEXT},
            "required": ["code", "category", "detail"],
        },
    },
    "required": ["instanceId", "status"],
}
_PROBLEM: Final = {
    "type": "object",
    "properties": {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "code": _TEXT,
        "correlationId": _TEXT,
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": _TEXT, "detail": _TEXT},
                "required": ["field", "detail"],
            },
        },
    },
    "required": ["type", "title", "status", "detail", "code", "correlationId"],
}
