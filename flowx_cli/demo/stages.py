"""The systems around an example, made for one story: how they fail, and what they saw.

The examples are importable only while their copy is open, so they are imported when a stage is set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias

from flowx_cli.demo.outside import Outside, capabilities_around


@dataclass(frozen=True, slots=True)
class Stage:
    """Capabilities around stand-ins that the story knows."""

    capabilities: Sequence[object]
    seen: Callable[[], Sequence[str]]
    """What reached the systems outside, in order."""


SetStage: TypeAlias = Callable[[Path], Stage]
"""Is given a folder for files that the systems keep."""

OUTSIDE: Final = "outside.jsonl"
"""The file of systems that outlive a process."""


def slow_processor(down_for: int) -> SetStage:
    """A card processor that does not answer the first few times."""

    def stage(_: Path) -> Stage:
        stand_ins, app = import_module("payments.stand_ins"), import_module("payments.app")
        warehouse, mailer = stand_ins.InMemoryWarehouse(), stand_ins.InMemoryMailer()
        processor = stand_ins.InMemoryProcessor(down_for=down_for)

        def seen() -> Sequence[str]:
            return (
                f"the warehouse:  {'; '.join(warehouse.calls)}",
                f"the processor:  {'; '.join(processor.calls)}",
                f"    and charged: {sum(processor.charged.values())} cents in all",
                f"the mail server: {'; '.join(mailer.sent)}",
            )

        return Stage(app.capabilities(warehouse, processor, mailer), seen)

    return stage


def company(*, closed: Sequence[str] = ()) -> SetStage:
    """A company whose departments answer, but for those that are closed."""

    def stage(_: Path) -> Stage:
        made: Any = import_module("workflow.company").Company()
        made.closed.update(closed)

        def seen() -> Sequence[str]:
            standing = sum(made.standing.values())
            return (*made.effects, f"of all this now stands: {f'{standing} effects' if standing else 'nothing'}")

        return Stage(import_module("workflow.app").capabilities(made), seen)

    return stage


def lasting_systems(folder: Path) -> Stage:
    """Systems that a node which dies leaves as they are."""
    outside = Outside(folder / OUTSIDE)
    return Stage(capabilities_around(outside), outside.seen)
