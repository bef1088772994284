"""What a test does wrong, and what a run of a flow must not do. Each is a failed test, in one sentence."""

from __future__ import annotations


class TestSetupError(AssertionError):
    """The test asks for something that cannot be: a capability that is not there, an answer of the wrong type."""

    __test__ = False


class NeverFinishes(AssertionError):
    """The clock can be moved no further and something still waits; the message says what waits for what."""


class Interrupted(AssertionError):
    """A run that was killed, or whose turns came in another order, went another way than the undisturbed one."""
