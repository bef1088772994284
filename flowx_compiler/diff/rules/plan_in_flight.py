"""Whether instances that were started can go on.

An instance keeps the version it was started with, and needs that version's plan, unchanged, until it ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.document import Flow
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.versions import precedence

EDITED = Rule(
    "040",
    Verdict.BREAKING,
    "in flight: plan changed under its version",
    detects="One version of a flow has another `planDigest`.",
    matters="Instances already started under the version cannot go on: the plan they stopped in does not exist.",
    hurt="open instances of that version",
    advice="give the edited flow a new version; build keeps the old plan for the instances that need it",
    mirror=("040",),
    one_sided="only a flow has plans",
)
GONE = Rule(
    "041",
    Verdict.BREAKING,
    "in flight: plan of an older version gone",
    detects=(
        "The old manifest had a plan of this version, as the flow's own or among `retiredPlans`; the new one lists the"
        " flow without it."
    ),
    matters="Instances already started under the version cannot go on.",
    hurt="open instances of that version",
    advice="bring the plan module back, or prune it only when no instance of it is open (`flowx build --prune`)",
    mirror=(),
    one_sided="only a flow has plans",
    asymmetry="a plan that comes back hurts nobody, and says nothing new about the contract",
)
MOVED = Rule(
    "212",
    Verdict.NEUTRAL,
    "steps changed under a new version",
    detects="The newest version of a flow moved on within its major, and its plan's digest differs.",
    matters="What a flow does inside is free to change; instances already started finish under their own version.",
    hurt="nobody",
    advice="nothing to do",
    mirror=("212",),
    one_sided="only a flow has plans",
)
RULES = (EDITED, GONE, MOVED)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Plans of every version that the old manifest could load."""
    old, new = _plans(comparison.old.flows), _plans(comparison.new.flows)
    for flow in comparison.flows.kept:
        before, after = old[flow.key], new[flow.key]
        for version in sorted(before, key=precedence):
            subject = f"flow {flow.old.id}@{version}"
            hurt = f"open instances of {flow.old.id}@{version}"
            if version not in after:
                yield GONE.finding(subject, _short(before[version]) or version, hurt=hurt)
            elif before[version] and after[version] and before[version] != after[version]:
                digests = _short(before[version]), _short(after[version])
                yield EDITED.finding(subject, *digests, hurt=hurt, advice=_advice(flow.new, version))
        digests = flow.old.plan_digest, flow.new.plan_digest
        if flow.old.version != flow.new.version and all(digests) and digests[0] != digests[1]:
            retired = [version for version in sorted(after, key=precedence) if version != flow.new.version]
            kept = f" (keeps the plans of {', '.join(retired)})" if retired else ""
            yield MOVED.finding(f"flow {flow.key}", flow.old.version, f"{flow.new.version}{kept}")


def _short(digest: str) -> str:
    """Enough of a digest to tell two apart; nobody reads the rest."""
    return digest[:12]


def _advice(flow: Flow, version: str) -> str:
    if version != flow.version:
        return f"bring the plan module of {version} back as it was: a plan that was released never changes"
    return f"give {flow.id} a new version{_next(version)}, and build: the plan of {version} is kept beside it"


def _next(version: str) -> str:
    numbers = version.split(".")
    if len(numbers) != 3 or not numbers[1].isdecimal():
        return ""
    return f", such as {numbers[0]}.{int(numbers[1]) + 1}.0"


def _plans(flows: tuple[Flow, ...]) -> dict[str, dict[str, str]]:
    """Digest by version, for each flow and major."""
    plans: dict[str, dict[str, str]] = {}
    for flow in flows:
        known = plans.setdefault(flow.key, {})
        known |= {version: digest for version, digest in flow.retired_plans.items() if version not in known}
        known[flow.version] = flow.plan_digest
    return plans
