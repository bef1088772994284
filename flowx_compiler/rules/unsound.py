"""What no setting, directive or baseline can silence: the reason why a flow cannot be compiled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flowx_compiler.findings import Finding, Severity
from flowx_compiler.model import Flow, Program
from flowx_compiler.rules.registry import find_rule
from flowx_compiler.rules.rule import ERROR
from flowx_compiler.verdict import Verdict


def with_reasons(program: Program, verdict: Verdict) -> Verdict:
    """The verdict, in which every flow that cannot be compiled has an error.

    A directive over a part that was not understood does not make it understood: without this, a build would go on with
    a flow that has a hole. What was silenced comes back, within the flow if that is where it is, else from anywhere.
    """
    errors = [finding for finding in verdict.findings if finding.severity is Severity.ERROR]
    unsound = [flow for flow in program.flows.values() if not flow.is_sound]
    unexplained = [flow for flow in unsound if not any(_is_within(finding, flow) for finding in errors)]
    if not unexplained:
        return verdict
    told_already = {_key(finding) for finding in errors}
    silenced = [finding for finding in _problems(program) if _key(finding) not in told_already]
    back = [finding for finding in silenced if any(_is_within(finding, flow) for flow in unexplained)]
    if not back and not errors:
        back = silenced
    keys = {_key(finding) for finding in back}
    told = [
        replace(finding, help=f"{finding.help}; it cannot be silenced, because the flow does not compile with it")
        for finding in back
    ]
    kept = [finding for finding in verdict.findings if _key(finding) not in keys]
    return replace(
        verdict,
        findings=tuple(sorted((*kept, *told), key=lambda finding: finding.order)),
        suppressed=tuple(item for item in verdict.suppressed if _key(item.finding) not in keys),
        known=tuple(finding for finding in verdict.known if _key(finding) not in keys),
    )


def _problems(program: Program) -> Iterator[Finding]:
    """What linking could not accept, as the errors that its rules make of it."""
    for id in sorted({problem.id for problem in program.problems}):
        entry = find_rule(id)
        if entry is not None and entry.rule.severity is ERROR:
            yield from entry.rule.problems(program)


def _is_within(finding: Finding, flow: Flow) -> bool:
    span = flow.syntax.span
    first = min((decorator.span.line for decorator in flow.syntax.decorators), default=span.line)
    return finding.place.file == flow.place.file and first <= finding.place.span.line <= span.end_line


def _key(finding: Finding) -> tuple[object, ...]:
    """What stays the same when a project gives the rule another severity."""
    return finding.id, finding.place, finding.message
