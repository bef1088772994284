"""The plans of one host, checked before the first of them runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.authoring.flows import Flow
from flowx_runtime.authoring.vocabulary import Profile
from flowx_runtime.engine.policies.fallback import stand_in
from flowx_runtime.host.errors import NotAPlan
from flowx_runtime.plan.catalog import Catalog, CatalogEntry, UnknownPlan
from flowx_runtime.plan.nodes import Emit, Step, SubFlow
from flowx_runtime.plan.plan import Plan
from flowx_runtime.plan.staleness import check_fresh, check_retired
from flowx_runtime.plan.uses import CapabilityUse

_LOG = logging.getLogger("flowx.host")

AnyPlan: TypeAlias = Plan[Any, Any]


def uses_of(plan: AnyPlan) -> Iterator[CapabilityUse]:
    """Every capability that a step, its undo or its fallback calls."""
    for node in plan.nodes:
        if isinstance(node, Step):
            yield node.capability
            if node.compensation is not None:
                yield node.compensation
            if node.policy is not None and node.policy.fallback is not None:
                instead = stand_in(node.policy.fallback, node.capability)
                if instead is not None:
                    yield instead


class Plans:
    """Plans by flow and version; of several versions of a flow in a list, the last is the current one."""

    def __init__(self, given: Catalog | Iterable[AnyPlan]) -> None:
        self._plans: dict[tuple[str, str], AnyPlan] = {}
        self._current: dict[str, AnyPlan] = {}
        self._emitting: set[tuple[str, str]] = set()
        self._retired: set[tuple[str, str]] = set()
        self._set_aside: set[tuple[str, str]] = set()
        self.application = given.application if isinstance(given, Catalog) else ""
        if isinstance(given, Catalog):
            for entry in given:
                self._load(given, entry)
        else:
            for plan in given:
                self._add(plan, is_current=True)
        self.keep_retired_that_pass(check_retired)
        for plan in self:
            self._check_whole(plan)
            self._note_events(plan)

    def __iter__(self) -> Iterator[AnyPlan]:
        return iter(self._plans.values())

    @property
    def all_current(self) -> Iterator[AnyPlan]:
        """The plan of each flow that a new instance starts under."""
        return iter(self._current.values())

    @property
    def versions(self) -> frozenset[tuple[str, str]]:
        """The (flow, version) pairs that this host can run."""
        return frozenset(self._plans)

    @property
    def set_aside(self) -> frozenset[tuple[str, str]]:
        """The retired (flow, version) pairs that this host cannot run, for something that their plans need is gone."""
        return frozenset(self._set_aside)

    def keep_retired_that_pass(self, check: Callable[[AnyPlan], None]) -> None:
        """Set retired plans aside that a check refuses, and those that run them as sub-flows.

        Args:
            check: raises where a plan cannot run.
        """
        checks = (check, self._check_whole)
        failed = True
        while failed:
            failed = False
            for identity in sorted(self._retired & self._plans.keys()):
                try:
                    for each in checks:
                        each(self._plans[identity])
                except FlowxError as error:
                    del self._plans[identity]
                    self._note_set_aside(identity, error)
                    failed = True

    def current(self, which: AnyPlan | str) -> AnyPlan:
        """The plan that a new instance starts under.

        Raises:
            NotAPlan: it was given a flow class or something else that is no plan.
            UnknownPlan: the host does not have it.
        """
        if isinstance(which, str):
            plan = self._current.get(which)
        else:
            _refuse_other(which)
            plan = self._plans.get((which.flow_id, which.version))
        if plan is None:
            asked = which if isinstance(which, str) else f"{which.flow_id} {which.version}"
            known = ", ".join(sorted(self._current)) or "no flow at all"
            raise UnknownPlan(f"this host has no plan of {asked!r}; it has {known}")
        return plan

    def stages_events(self, plan: AnyPlan) -> bool:
        """Whether a plan of this host may stage events."""
        return (plan.flow_id, plan.version) in self._emitting

    def find(self, flow_id: str, version: str) -> AnyPlan | None:
        """The plan of exactly this version."""
        return self._plans.get((flow_id, version))

    def exactly(self, flow_id: str, version: str) -> AnyPlan:
        """Like `find`.

        Raises:
            UnknownPlan: the host does not have it.
        """
        plan = self.find(flow_id, version)
        if plan is None:
            raise UnknownPlan(f"this host has no plan of {flow_id!r} {version}; deploy that version here")
        return plan

    def uses(self) -> Iterator[CapabilityUse]:
        """Every capability that any plan calls."""
        for plan in self:
            yield from uses_of(plan)

    def _load(self, catalog: Catalog, entry: CatalogEntry) -> None:
        """Import a plan. Of a retired one only its own instances need it: it takes nothing else down with it."""
        if not entry.retired:
            self._add(catalog.plan(entry.flow_id, entry.version), is_current=True)
            return
        try:
            self._add(catalog.plan(entry.flow_id, entry.version), is_current=False)
            self._retired.add((entry.flow_id, entry.version))
        except (Exception, SystemExit) as error:  # whatever the application's own import raises
            self._note_set_aside((entry.flow_id, entry.version), error)

    def _note_set_aside(self, identity: tuple[str, str], error: BaseException) -> None:
        self._set_aside.add(identity)
        flow_id, version = identity
        _LOG.error(
            "the retired plan of %s %s cannot run here (%s: %s), and its instances stay where they are: put back what "
            "it lacks, or let them end elsewhere and run `flowx build --prune %s@%s`",
            flow_id,
            version,
            type(error).__name__,
            error,
            flow_id,
            version,
        )

    def _add(self, plan: AnyPlan, *, is_current: bool) -> None:
        _refuse_other(plan)
        if is_current:
            check_fresh(plan)
            self._current[plan.flow_id] = plan
        self._plans[plan.flow_id, plan.version] = plan

    def _check_whole(self, plan: AnyPlan) -> None:
        """Refuse a plan whose sub-flow is not here."""
        for node in plan.nodes:
            if isinstance(node, SubFlow) and self.find(node.flow_id, node.version) is None:
                raise UnknownPlan(
                    f"{plan.flow_id!r} {plan.version} runs {node.flow_id!r} {node.version}, which this host does not "
                    "have: give it that plan too"
                )

    def _note_events(self, plan: AnyPlan) -> None:
        """Keep whether a plan emits; say what a flow that keeps no journal cannot do."""
        emits = [node.event.id for node in plan.nodes if isinstance(node, Emit)]
        emits += [emit.event.id for emit in plan.on_failure]
        if emits:
            self._emitting.add((plan.flow_id, plan.version))
        if emits and plan.profile is Profile.EPHEMERAL:
            _LOG.warning(
                "%s %s is ephemeral and publishes nothing: its events (%s) need `profile=Profile.DURABLE`",
                plan.flow_id,
                plan.version,
                ", ".join(emits),
            )


def _refuse_other(candidate: object) -> None:
    if isinstance(candidate, Plan):
        return
    if isinstance(candidate, type) and issubclass(candidate, Flow):
        raise NotAPlan(
            f"{candidate.__qualname__} is a flow class, which nothing can run: run `flowx build` and give the host the "
            "generated `CATALOG`, or its `PLAN`"
        )
    raise NotAPlan(f"a host runs compiled plans, not a {type(candidate).__qualname__}: give it a `CATALOG` or `PLAN`s")
