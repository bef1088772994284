"""Draws what was asked for: a flow of the project, or an instance on its plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from flowx_cli.building import configured
from flowx_cli.graph.dot import dot_of
from flowx_cli.graph.figure import Figure
from flowx_cli.graph.marks import NOTHING, Marks, annotated, marks_of
from flowx_cli.graph.mermaid import mermaid_of
from flowx_cli.graph.page import page_of
from flowx_cli.graph.place import place
from flowx_cli.graph.reading import figure_of
from flowx_cli.graph.svg import svg_of
from flowx_cli.operate.dossier import read_dossier
from flowx_cli.project import ProjectNotRunnable, load_catalog, load_plan
from flowx_compiler.errors import UsageProblem
from flowx_runtime.host.errors import NotRunnable
from flowx_runtime.plan import Plan


def drawn_flow(flow: str | None, format_: str) -> str:
    """A flow of the project in this folder.

    Raises:
        UsageProblem: there are several and none is named.
        FlowxError: the project is not built, or has no such flow.
    """
    return drawn(figure_of(_plan(flow)), format_)


async def drawn_instance(instance_id: UUID, format_: str, *, dsn: str | None) -> str:
    """An instance, on the plan it is pinned to.

    Raises:
        UnknownInstance: there is none.
        NotRunnable: the project lacks its plan.
        FlowxError: the database cannot be reached, or its schema is not this version's.
    """
    dossier = await read_dossier(instance_id, dsn)
    instance = dossier.history.instance
    if dossier.pinned.plan is None:
        raise NotRunnable(dossier.pinned.lacks or "there is no project in this folder: go to the one of the instance")
    figure = figure_of(dossier.pinned.plan)
    error = "" if instance.error is None else f", {instance.error.code}"
    about = f"{instance_id}: {instance.state.value}{error}"
    return drawn(figure, format_, marks_of(figure, dossier.history), about)


def drawn(figure: Figure, format_: str, marks: Marks = NOTHING, about: str = "") -> str:
    """The text of a picture: `mermaid`, `dot`, `svg` or `html`."""
    figure = annotated(figure, marks)
    if format_ == "mermaid":
        return mermaid_of(figure, marks)
    if format_ == "dot":
        return dot_of(figure, marks)
    svg = svg_of(place(figure), f"{figure.title} {about}".strip(), marks)
    return svg if format_ == "svg" else page_of(figure, svg, instance=about)


def _plan(flow: str | None) -> Plan[Any, Any]:
    catalogs = [load_catalog(config) for config in configured(Path())]
    current = [(catalog, entry) for catalog in catalogs for entry in catalog if not entry.retired]
    if flow is None:
        if len(current) != 1:
            known = ", ".join(sorted(entry.flow_id for _, entry in current))
            raise UsageProblem(f"this project has {len(current)} flows ({known}): name one with --flow")
        catalog, entry = current[0]
        return load_plan(catalog, entry.flow_id)
    flow_id, _, version = flow.partition("@")
    has_it = [catalog for catalog in catalogs if any(entry.flow_id == flow_id for entry in catalog)]
    if not catalogs:
        raise ProjectNotRunnable("this project has no plans: run `flowx build` first")
    return load_plan((has_it or catalogs)[0], flow_id, version or None)
