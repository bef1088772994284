"""What a rule is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowx_compiler.findings import Finding, Place, Related, Severity
from flowx_compiler.model import Program

ERROR = Severity.ERROR
WARNING = Severity.WARNING


@dataclass(frozen=True, slots=True)
class Rule:
    """The data of one rule; its module's docstring is its page."""

    id: str
    name: str
    """Named by the mistake: `poll-over-non-idempotent`."""
    severity: Severity
    is_safety: bool = False
    """Never ignorable in configuration; only suppressed at its line, with a reason."""

    def finding(
        self,
        place: Place,
        message: str,
        *,
        help: str,
        label: str = "",
        related: tuple[Related, ...] = (),
        severity: Severity | None = None,
    ) -> Finding:
        """A finding of this rule."""
        return Finding(self.id, severity or self.severity, place, message, label, help, related)

    def problems(self, program: Program) -> Iterator[Finding]:
        """The findings of a rule whose condition linking has judged already."""
        for problem in program.problems:
            if problem.id == self.id:
                yield self.finding(
                    problem.place,
                    problem.message,
                    help=problem.help,
                    label=problem.label,
                    related=problem.related,
                )


@dataclass(frozen=True, slots=True)
class Example:
    """A flow that shows a rule firing, or staying silent.

    `define` is the body of a definition over the declarations of `example_shop.py.txt`; a line on which the rule must
    fire ends in `# <-`. `module` is further text at module level.
    """

    define: str
    module: str = ""
    decorator: str = '@flow("example.flow", version="1.0.0", profile=Profile.DURABLE, deadline="P30D")'
    header: str = "class Example(Flow[PlaceOrder, OrderResult]):"
    returns: bool = True
    """Whether the usual projection is appended."""
    before: str | None = None
    """For rules that compare with what was built before: the body that was, under the version 1.0.0."""
    module_before: str | None = None
    """Likewise: what was at module level."""

    @property
    def is_compared(self) -> bool:
        """Whether something was built before."""
        return self.before is not None or self.module_before is not None
