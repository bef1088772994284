"""The signals a flow waits for, in a wait of its own or as the second ending of a poll.

A renamed signal shows both halves: the old one is gone (021) and a new one is awaited (022).
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler.diff.comparison import Comparison
from flowx_compiler.diff.rule import Finding, Rule, Verdict
from flowx_compiler.diff.waits import awaited

GONE = Rule(
    "021",
    Verdict.BREAKING,
    "signal no longer awaited",
    detects="The flow waited for a signal, and waits for it nowhere now.",
    matters="The quietest break: deliveries are accepted and do nothing, and instances wait to their end.",
    hurt="senders of the signal",
    advice="keep waiting for the old signal, or publish the flow under a new major",
    mirror=("022",),
    across=("020",),
)
ADDED = Rule(
    "022",
    Verdict.BREAKING,
    "signal newly awaited",
    detects="The flow waits for a signal that it did not wait for, also when a poll accepts it as a second ending.",
    matters='The caller\'s answer turns from a result into "accepted, waiting", and somebody has to send the signal.',
    hurt="callers of the flow",
    advice="tell callers, and publish the flow under a new major when they cannot wait",
    mirror=("021",),
    across=("102",),
)
WINDOW = Rule(
    "206",
    Verdict.NEUTRAL,
    "wait window changed",
    detects="A signal is still awaited and the declared wait differs, also to and from none.",
    matters="It is an operational budget: the flow waits longer or shorter.",
    hurt="nobody; senders have more or less time",
    advice="tell senders when they have less time",
    mirror=("206",),
    one_sided="an event has no window: nobody has to answer it",
)
RULES = (GONE, ADDED, WINDOW)


def compare(comparison: Comparison) -> Iterator[Finding]:
    """Flows that wait for other signals, or for other times."""
    for flow in comparison.flows.kept:
        old, new = awaited(flow.old.steps), awaited(flow.new.steps)
        for signal in sorted(old.keys() | new.keys()):
            subject = f"flow {flow.key} signal {signal}"
            if signal not in new:
                yield GONE.finding(subject, signal, hurt=f"senders of signal {signal}")
            elif signal not in old:
                yield ADDED.finding(subject, "", signal, hurt=comparison.callers.of_flow(flow.key))
            elif old[signal] != new[signal]:
                yield WINDOW.finding(subject, old[signal], new[signal])
