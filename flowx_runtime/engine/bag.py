"""The values a run has so far, by contract; what predicates, selectors, maps and projections read.

A branch of a fork and an element of a loop write to an overlay of their own; what an overlay holds is put into the
bag below it at the join, in declaration or element order, whatever the order they finished in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

from flowx_runtime.engine.failures import ValueMissing
from flowx_runtime.journal.records import StoredError

T = TypeVar("T")


class Bag:
    """Typed slots over an outer bag. Implements `FlowContext` for one run."""

    __slots__ = ("failed_with", "input", "outer", "results_by_contract", "utc_now", "values_by_contract")

    def __init__(self, input: Any, utc_now: datetime, outer: Bag | None = None) -> None:
        self.input = input
        self.utc_now = utc_now
        """The engine's clock at the last row the walk passed: the same on every pass."""
        self.outer = outer
        self.values_by_contract: dict[type[Any], Any] = {}
        self.results_by_contract: dict[type[Any], list[Any]] = {}
        self.failed_with: StoredError | None = None
        if outer is None:
            self.values_by_contract[type(input)] = input

    @property
    def error(self) -> StoredError:
        """The failure that ends the flow."""
        if self.failed_with is None:
            raise ValueMissing("`ctx.error` has a value only in `emit_on_failure`")
        return self.failed_with

    def get(self, contract: type[T], /) -> T:
        """The value of exactly this contract."""
        found = self.find(contract)
        if found is None:
            raise ValueMissing(f"no step on this path has left a {contract.__name__}")
        return found

    def find(self, contract: type[T], /) -> T | None:
        """The value of exactly this contract, or `None`."""
        bag: Bag | None = self
        while bag is not None:
            if contract in bag.values_by_contract:
                found: T = bag.values_by_contract[contract]
                return found
            bag = bag.outer
        return None

    def results(self, contract: type[T], /) -> Sequence[T]:
        """What the elements of finished loops left, in element order."""
        bag: Bag | None = self
        while bag is not None:
            if contract in bag.results_by_contract:
                return tuple(bag.results_by_contract[contract])
            bag = bag.outer
        return ()

    def put(self, contract: type[Any], value: Any) -> None:
        """Leave a value for the steps after this one."""
        self.values_by_contract[contract] = value

    def everything(self) -> Iterator[Any]:
        """Every value in sight: whatever is told aloud must quote none of their sensitive members."""
        bag: Bag | None = self
        while bag is not None:
            yield bag.input
            yield from bag.values_by_contract.values()
            for values in bag.results_by_contract.values():
                yield from values
            bag = bag.outer

    def overlay(self) -> Bag:
        """A bag that reads through to this one and writes to itself."""
        return Bag(self.input, self.utc_now, self)

    def merge(self, overlay: Bag) -> None:
        """Take over what a finished branch wrote."""
        self.values_by_contract.update(overlay.values_by_contract)
        for contract, values in overlay.results_by_contract.items():
            self.results_by_contract[contract] = values
        self.utc_now = max(self.utc_now, overlay.utc_now)

    def merge_elements(self, overlays: Sequence[Bag]) -> None:
        """Take over what the elements of a loop wrote: the last value of each contract, and all of them in order."""
        gathered: dict[type[Any], list[Any]] = {}
        for overlay in overlays:
            for contract in overlay.values_by_contract.keys() | overlay.results_by_contract.keys():
                values = overlay.results_by_contract.get(contract, [overlay.values_by_contract.get(contract)])
                gathered.setdefault(contract, []).extend(values)
            self.values_by_contract.update(overlay.values_by_contract)
            self.utc_now = max(self.utc_now, overlay.utc_now)
        self.results_by_contract.update(gathered)

    def failing_with(self, error: StoredError) -> Bag:
        """A view of this bag in which `error` may be read."""
        view = self.overlay()
        view.failed_with = error
        return view
