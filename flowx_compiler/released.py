"""What has been released: the flow versions in a manifest that was committed, and the steps of their capabilities.

Light to import: a build of an unchanged project needs no more than this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Identity: TypeAlias = tuple[str, str]
"""Flow id and version."""


@dataclass(frozen=True, slots=True)
class Released:
    """The part of a manifest that instances in flight hold on to."""

    digests: Mapping[Identity, str] = field(default_factory=dict)
    """The plan digest of each current flow, and of each older version whose plan is kept."""
    labels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By capability id, the labels of the steps inside it."""

    def without_drafts(self) -> Released:
        """Without pre-release versions: `1.1.0-dev.1` says of itself that it may still change."""
        digests = {identity: digest for identity, digest in self.digests.items() if "-" not in identity[1]}
        return Released(digests, self.labels)

    def changed(self, now: Released) -> tuple[Identity, ...]:
        """The flow versions that are in both and have not the same plan."""
        both = self.digests.keys() & now.digests.keys()
        return tuple(sorted(identity for identity in both if self.digests[identity] != now.digests[identity]))

    def labels_gone(self, now: Released) -> Mapping[str, frozenset[str]]:
        """By capability id, the labels that are there no more, of capabilities that still are."""
        gone = {id: labels - now.labels[id] for id, labels in self.labels.items() if id in now.labels}
        return {id: labels for id, labels in gone.items() if labels}


class NotAManifest(ValueError):
    """Something is where a manifest is looked for, and is none: conflict markers, a pointer to large-file storage."""


def read_released(manifest: bytes | str | None) -> Released:
    """What a manifest says; where there is none, nothing is released.

    Raises:
        NotAManifest: what is given cannot be read as one.
    """
    if manifest is None:
        return Released()
    try:
        document = json.loads(manifest)
        digests = {
            (str(flow["id"]), str(plan["version"])): str(plan["planDigest"])
            for flow in document["flows"]
            for plan in (flow, *flow.get("retiredPlans", ()))
        }
        labels = {
            str(capability["id"]): frozenset(map(str, capability.get("onceLabels", ())))
            for capability in document["capabilities"]
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotAManifest(str(error)) from error
    return Released(digests, labels)
