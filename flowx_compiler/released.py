"""What has been released: the digests of the flow versions in a manifest that was committed.

Light to import: a build of an unchanged project needs no more than this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeAlias

Digests: TypeAlias = Mapping[tuple[str, str], str]
"""The plan digest of each (flow id, version)."""


def released_digests(manifest: bytes | str | None) -> Digests:
    """The digests that a committed manifest holds; none of what is no manifest, and none of a pre-release version.

    A version such as `1.1.0-dev.1` says of itself that it may still change; nobody is to rely on it.
    """
    return {key: digest for key, digest in plan_digests(manifest).items() if "-" not in key[1]}


def plan_digests(manifest: bytes | str | None) -> Digests:
    """The digests of the current flows of a manifest; whatever else it is gives none."""
    try:
        flows = json.loads(manifest or b"{}")["flows"]
        return {(str(flow["id"]), str(flow["version"])): str(flow["planDigest"]) for flow in flows}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def changed(released: Digests, built: Digests) -> tuple[tuple[str, str], ...]:
    """The (flow id, version) pairs that are in both and are not the same."""
    return tuple(sorted(key for key in released.keys() & built.keys() if released[key] != built[key]))
