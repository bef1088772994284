"""From the capability a plan names to the thing that is called."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, TypeAlias

from flowx_runtime.authoring.capabilities import capability_declaration
from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.plan.uses import CapabilityUse

Call: TypeAlias = Callable[[Any, Any], Awaitable[Any]]
"""A request and a context in; awaited, the result."""


class CapabilityMissing(FlowxError):
    """A plan uses a capability class of which the host was given no instance."""

    code: ClassVar[str] = "host.capability_missing"


class CapabilityDuplicate(FlowxError):
    """The host was given two instances of one capability class."""

    code: ClassVar[str] = "host.capability_duplicate"


class CapabilityUnknown(FlowxError):
    """The host was given something that is no capability of any of its plans."""

    code: ClassVar[str] = "host.capability_unknown"


class Capabilities:
    """Every capability of a host, ready to be called.

    Args:
        given: instances of capability classes, factories of them (called once, here), or function capabilities.
        substitutes: by capability id, a callable `(request, ctx)` that answers instead.
        around: makes of each call the one that is made.
    """

    def __init__(
        self,
        given: Iterable[Any],
        substitutes: Mapping[str, Callable[..., Any]] | None = None,
        *,
        around: Callable[[CapabilityUse, Call], Call] | None = None,
    ) -> None:
        self._around = around
        self._substitutes = dict(substitutes or {})
        self._instances: dict[type[Any], Any] = {}
        self._calls: dict[Any, Call] = {}
        for item in given:
            self._register(item)

    def call(self, use: CapabilityUse) -> Call:
        """What to call for a use.

        Raises:
            CapabilityMissing: it is a class and no instance was given.
        """
        call = self._calls.get(use.target)
        if call is None:
            call = self._bound(use)
            if self._around is not None:
                call = self._around(use, call)
            self._calls[use.target] = call
        return call

    def check(self, uses: Iterable[CapabilityUse], *, may_be_unused: bool = False) -> None:
        """Hold what was given against everything the plans use.

        Args:
            uses: of every plan, or of one.
            may_be_unused: there are plans besides, which may use what these do not.

        Raises:
            CapabilityMissing: an instance lacks; all that lack are named.
            CapabilityUnknown: an instance is used by no plan.
        """
        targets: dict[Any, str] = {}
        for use in uses:
            if use.id not in self._substitutes:
                targets[use.target] = use.id
        missing = sorted(
            f"{target.__qualname__} ({capability_id})"
            for target, capability_id in targets.items()
            if isinstance(target, type) and target not in self._instances
        )
        if missing:
            raise CapabilityMissing(
                f"the plans use {', '.join(missing)}, of which this host has no instance: "
                "add one to `capabilities=[…]`, built with what its `__init__` needs; for the `flowx` command, to what "
                "the function gives that `capabilities` of [tool.flowx] names"
            )
        used = [target for target in targets if isinstance(target, type)]
        unused = [type(item).__qualname__ for item in self._instances.values() if not isinstance(item, tuple(used))]
        if unused and not self._substitutes and not may_be_unused:
            raise CapabilityUnknown(
                f"no plan of this host uses {', '.join(sorted(set(unused)))}: remove it from `capabilities=[…]`, "
                "or add the plan that uses it"
            )

    def _register(self, item: Any) -> None:
        if capability_declaration(item) is not None:
            if isinstance(item, type):
                raise CapabilityUnknown(
                    f"{item.__qualname__} is a class; give the host an instance: {item.__name__}(…)"
                )
            return
        instance = item() if inspect.isfunction(item) or isinstance(item, partial) else item
        declared = [cls for cls in type(instance).__mro__ if capability_declaration(cls) is not None]
        if not declared:
            raise CapabilityUnknown(
                f"{type(instance).__qualname__} is no capability: decorate the class with @capability, or remove it"
            )
        for cls in declared:
            if cls in self._instances:
                raise CapabilityDuplicate(f"the host was given two instances of {cls.__qualname__}; keep one")
            self._instances[cls] = instance

    def _bound(self, use: CapabilityUse) -> Call:
        target: Any = self._substitutes.get(use.id, use.target)
        if isinstance(target, type):
            instance = self._instances.get(target)
            if instance is None:
                raise CapabilityMissing(f"this host has no instance of {target.__qualname__} ({use.id})")
            target = instance.execute
        if inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(getattr(target, "__call__", None)):  # noqa: B004
            awaited: Call = target
            return awaited
        return partial(asyncio.to_thread, target)
