"""A manifest out of its text.

Reading is tolerant where the schema is closed: a field this version does not know is skipped, so that an older tool
reads a newer minor. Everything under `extensions` is skipped always.
"""

from __future__ import annotations

from flowx_compiler.diff.document import Capability, Event, Flow, Manifest, Step, Trigger, TypeRef
from flowx_compiler.diff.errors import NotAManifest
from flowx_compiler.diff.json_text import (
    Json,
    Odd,
    each,
    flag_of,
    object_of,
    objects_of,
    parse,
    set_of,
    text_of,
    version_of,
)


def read_manifest(text: str | bytes, name: str) -> Manifest:
    """The manifest in a text.

    Args:
        text: the document.
        name: what a sentence about it calls it, for example its path.

    Raises:
        NotAManifest: it is not JSON, not a manifest, or of a newer major.
    """
    document = parse(text, name)
    try:
        return _manifest(document)
    except Odd as odd:
        raise NotAManifest(f"{name} is not a flowx manifest: {odd}; give the file that `flowx build` wrote") from None
    except RecursionError:
        raise NotAManifest(f"{name} is nested too deeply to be a flowx manifest") from None


def _manifest(document: Json) -> Manifest:
    application = document.get("application")
    named = application if isinstance(application, dict) else {}
    return Manifest(
        schema_version=text_of(document, "schemaVersion"),
        application=text_of(named, "name"),
        application_version=text_of(named, "version"),
        flows=tuple(_flow(item) for item in objects_of(document, "flows", needed=True) if item.get("id")),
        capabilities=tuple(
            _capability(item) for item in objects_of(document, "capabilities", needed=True) if item.get("id")
        ),
        events=tuple(
            Event(text_of(item, "type"), version_of(item, "schemaVersion"), _type_ref(item, "contract"))
            for item in objects_of(document, "events")
            if item.get("type")
        ),
        signals={
            text_of(item, "id"): contract
            for item in objects_of(document, "signals")
            if (contract := _type_ref(item, "contract")) is not None
        },
        errors={text_of(item, "code"): text_of(item, "category") for item in objects_of(document, "errors")},
        contracts=object_of(document, "contracts"),
    )


def _flow(item: Json) -> Flow:
    return Flow(
        id=text_of(item, "id"),
        version=version_of(item, "version"),
        profile=text_of(item, "profile"),
        deadline=text_of(item, "deadline"),
        input=_type_ref(item, "input"),
        output=_type_ref(item, "output"),
        plan_digest=text_of(item, "planDigest"),
        retired_plans={
            version_of(plan, "version"): text_of(plan, "planDigest") for plan in objects_of(item, "retiredPlans")
        },
        triggers=tuple(_trigger(trigger) for trigger in objects_of(item, "triggers")),
        steps=tuple(_step(step) for step in objects_of(item, "steps")),
    )


def _trigger(item: Json) -> Trigger:
    return Trigger(
        kind=text_of(item, "kind"),
        method=text_of(item, "method"),
        route=text_of(item, "route"),
        transport=text_of(item, "transport"),
        topic=text_of(item, "topic"),
        cron=text_of(item, "cron"),
        idempotent=flag_of(item, "idempotent"),
        time_zone=text_of(item, "timeZone"),
        confirmation=text_of(item, "confirmation"),
    )


def _step(item: Json) -> Step:
    branches = item.get("branches", [])
    if not isinstance(branches, list) or not all(isinstance(branch, list) for branch in branches):
        raise Odd("`branches` is not a list of lists")
    return Step(
        kind=text_of(item, "kind") or "Capability",
        name=text_of(item, "name"),
        capability=text_of(item, "capability"),
        compensation=text_of(item, "compensation"),
        flow=text_of(item, "flow"),
        mode=text_of(item, "mode"),
        merge=text_of(item, "merge"),
        signal=text_of(item, "signal"),
        timeout=text_of(item, "timeout"),
        branches=tuple(tuple(_step(step) for step in each(branch, "branches")) for branch in branches),
    )


def _capability(item: Json) -> Capability:
    stance = object_of(item, "authorization")
    return Capability(
        id=text_of(item, "id"),
        version=version_of(item, "version"),
        input=_type_ref(item, "input"),
        output=_type_ref(item, "output"),
        mode=text_of(stance, "mode"),
        mode_value=text_of(stance, "value"),
        idempotent=flag_of(item, "idempotent") is True,
        side_effects=set_of(item, "sideEffects"),
        errors=set_of(item, "errors") if "errors" in item else None,
        deprecated=text_of(item, "deprecated"),
    )


def _type_ref(item: Json, key: str) -> TypeRef | None:
    reference = object_of(item, key)
    return TypeRef(text_of(reference, "type"), set_of(reference, "sensitive")) if reference else None
