"""An event whose version is not three numbers.

What it detects: a `version` of `@event` that is not a semantic version: three numbers without
leading zeros, and optionally what stands behind `-` or `+`.

Why it matters: Readers of the event and `flowx diff` decide by it what they can still read.

When to suppress: Never: write three numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from flowx_compiler.findings import Finding
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import ERROR, Example, Rule

RULE = Rule("FLOWX1055", "event-version-not-semver", ERROR)

INVALID = (
    Example(
        """\
flow.step(open_review)
flow.emit(Opened, lambda ctx: Opened(order_id=ctx.input.order_id))
""",
        module="""\
from flowx_runtime import event


@event("example.opened", version="v2")  # <-
class Opened(Contract):
    order_id: str
""",
    ),
)

VALID = (
    Example(
        """\
flow.step(open_review)
flow.emit(Opened, lambda ctx: Opened(order_id=ctx.input.order_id))
""",
        module="""\
from flowx_runtime import event


@event("example.opened", version="2.0.0")
class Opened(Contract):
    order_id: str
""",
    ),
)


_IDENTIFIERS = r"[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*"
_SEMVER = re.compile(rf"(0|[1-9]\d*)(\.(0|[1-9]\d*)){{2}}(-{_IDENTIFIERS})?(\+{_IDENTIFIERS})?")


def check(program: Program) -> Iterator[Finding]:
    """Every event with another kind of version."""
    for event in program.events.values():
        if not _SEMVER.fullmatch(event.version):
            yield RULE.finding(
                event.place,
                f"the version of event {event.id!r} is {event.version!r}, which is not three numbers",
                label="nobody can compare it",
                help='write for example `version="1.0.0"`',
            )
