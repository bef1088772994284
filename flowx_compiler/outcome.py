"""What a build comes to: light to import, because a build of an unchanged project needs no more than this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flowx_compiler.findings import Place
from flowx_compiler.report.report import Report


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to show and what to write."""

    report: Report
    files: Mapping[str, str]
    """Text by path relative to the root; empty where an error, or no flow, was found."""
    made_from: Mapping[str, Place] = field(default_factory=dict)
    """The flow that a plan module is made from, by the module's path."""
