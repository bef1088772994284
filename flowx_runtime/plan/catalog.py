"""The plans of an application, listed without importing them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.plan.plan import Plan


class UnknownPlan(FlowxError):
    """A flow or version that the catalogue does not list."""

    code: ClassVar[str] = "flow.unknown"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """Where the plan of one flow version lives."""

    flow_id: str
    version: str
    module: str
    """The absolute name of the plan module; importing it defines `PLAN`."""
    retired: bool = False
    """Kept for instances that started under it; new ones start under the current version."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """Every plan of a package. A flow's module is imported when it is first asked for."""

    entries: tuple[CatalogEntry, ...]
    application: str = ""
    """The application's name: what its runs share, such as the keys of steps that are about one thing."""
    _loaded: dict[tuple[str, str], Plan[Any, Any]] = field(default_factory=dict, repr=False, compare=False)

    def plan(self, flow_id: str, version: str | None = None) -> Plan[Any, Any]:
        """The plan of one flow version; without a version, the current one.

        Raises:
            UnknownPlan: the catalogue does not list it; the message says what it lists.
        """
        entry = self._entry(flow_id, version)
        key = (entry.flow_id, entry.version)
        if key not in self._loaded:
            self._loaded[key] = import_module(entry.module).PLAN
        return self._loaded[key]

    def __iter__(self) -> Iterator[CatalogEntry]:
        return iter(self.entries)

    def _entry(self, flow_id: str, version: str | None) -> CatalogEntry:
        of_flow = [entry for entry in self.entries if entry.flow_id == flow_id]
        if not of_flow:
            known = ", ".join(sorted({entry.flow_id for entry in self.entries})) or "no flow at all"
            raise UnknownPlan(f"there is no flow {flow_id!r} here; the catalogue lists {known}")
        for entry in of_flow:
            if entry.version == version or (version is None and not entry.retired):
                return entry
        versions = ", ".join(entry.version for entry in of_flow)
        raise UnknownPlan(
            f"flow {flow_id!r} has no version {version or 'that is current'}; there are plans for {versions}"
        )
