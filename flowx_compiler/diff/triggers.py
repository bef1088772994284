"""Triggers by address: the string an outsider uses to reach a flow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from flowx_compiler.diff.document import Trigger


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a flow on both sides."""

    kept: tuple[tuple[str, Trigger, Trigger], ...]
    gone: tuple[str, ...]
    added: tuple[str, ...]


def address(trigger: Trigger) -> str:
    """What reaches the flow: kind, method, route, transport, topic and schedule."""
    parts = (trigger.kind, trigger.method, trigger.route, trigger.transport, trigger.topic, trigger.cron)
    return " ".join(part for part in parts if part) or "(unspecified)"


def pair_addresses(old: Iterable[Trigger], new: Iterable[Trigger]) -> Addresses:
    """Pair triggers of one address; of two on one address the last counts.

    A trigger that names no transport can be served by any: naming one, or no longer naming it, moves no address.
    """
    before = {address(trigger): trigger for trigger in old}
    after = {address(trigger): trigger for trigger in new}
    kept = [(place, before.pop(place), after.pop(place)) for place in sorted(before.keys() & after.keys())]
    for place in sorted(before):
        for other in sorted(after):
            if _is_same_but_for_transport(before[place], after[other]):
                # Told under the address without a transport, whichever way the change goes.
                kept.append((min(place, other, key=len), before.pop(place), after.pop(other)))
                break
    return Addresses(tuple(kept), tuple(sorted(before)), tuple(sorted(after)))


def _is_same_but_for_transport(old: Trigger, new: Trigger) -> bool:
    bare = address(replace(old, transport="")) == address(replace(new, transport=""))
    return bare and not (old.transport and new.transport)
