"""The plan that an instance is pinned to, as far as the project in this folder has it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowx_cli.project import ProjectNotRunnable, load_catalog
from flowx_compiler.config import find_pyproject, load_config
from flowx_runtime.journal.records import InstanceRow
from flowx_runtime.plan import Catalog, Plan
from flowx_runtime.plan.catalog import UnknownPlan


@dataclass(frozen=True, slots=True)
class Pinned:
    """What is known of it."""

    plan: Plan[Any, Any] | None
    lacks: str | None = None
    """Why the project cannot go on with the instance; `None` where it can, or where there is no project."""


def pinned_plan(instance: InstanceRow) -> Pinned:
    """Look for the plan in the project at or above this folder; never fails."""
    pyproject = find_pyproject(Path())
    if pyproject is None:
        return Pinned(None)
    found: list[Pinned] = []
    for config in load_config(pyproject):
        try:
            found.append(_pinned_in(load_catalog(config), instance))
        except ProjectNotRunnable as broken:
            found.append(Pinned(None, f"this project cannot run it: {broken}"))
    return next((each for each in found if each.lacks is None), found[0])


def _pinned_in(catalog: Catalog, instance: InstanceRow) -> Pinned:
    named = f"{instance.flow_id} {instance.flow_version}"
    try:
        plan = catalog.plan(instance.flow_id, instance.flow_version)
    except UnknownPlan:
        return Pinned(None, f"this project has no plan of {named}: a node that has it goes on with the instance")
    except (Exception, SystemExit) as error:  # whatever the application's own import raises
        return Pinned(None, f"the plan of {named} cannot be imported here: {error}")
    if plan.digest != instance.plan_digest:
        return Pinned(
            None,
            f"this project has another plan of {named} than the one it is pinned to "
            f"({instance.plan_digest[:12]}): it was built anew under the same version",
        )
    return Pinned(plan)
