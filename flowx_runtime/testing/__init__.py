"""Tests for flows: the production engine under virtual time, with substitutes, crashes and interleavings.

Names resolve on first use: `hypothesis` is imported only for its strategies, and pytest only by its plugin, which is
loaded wherever flowx is installed and must cost nothing there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowx_runtime.names import resolver

if TYPE_CHECKING:
    from flowx_runtime.testing.answers import after, fails, sequence
    from flowx_runtime.testing.builder import TestHostBuilder, flow_host
    from flowx_runtime.testing.crashes import Crashes, crash_everywhere
    from flowx_runtime.testing.errors import Interrupted, NeverFinishes, TestSetupError
    from flowx_runtime.testing.flow_test_host import FlowTestHost
    from flowx_runtime.testing.interleaving import interleave
    from flowx_runtime.testing.ledger import Boundary
    from flowx_runtime.testing.run import FlowRun
    from flowx_runtime.testing.strategies import contracts, flow_inputs
    from flowx_runtime.testing.trace import Trace
    from flowx_runtime.testing.virtual_time import VirtualClock

_HOME = {
    **dict.fromkeys(("after", "fails", "sequence"), "answers"),
    **dict.fromkeys(("TestHostBuilder", "flow_host"), "builder"),
    **dict.fromkeys(("Crashes", "crash_everywhere"), "crashes"),
    **dict.fromkeys(("Interrupted", "NeverFinishes", "TestSetupError"), "errors"),
    "FlowTestHost": "flow_test_host",
    "interleave": "interleaving",
    "Boundary": "ledger",
    "FlowRun": "run",
    **dict.fromkeys(("contracts", "flow_inputs"), "strategies"),
    "Trace": "trace",
    "VirtualClock": "virtual_time",
}

__all__ = [
    "Boundary",
    "Crashes",
    "FlowRun",
    "FlowTestHost",
    "Interrupted",
    "NeverFinishes",
    "TestHostBuilder",
    "TestSetupError",
    "Trace",
    "VirtualClock",
    "after",
    "contracts",
    "crash_everywhere",
    "fails",
    "flow_host",
    "flow_inputs",
    "interleave",
    "sequence",
]


__getattr__ = resolver(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
