"""What a host refuses, and what to do about each."""

from __future__ import annotations

from typing import ClassVar

from flowx_runtime.authoring.errors import FlowxError


class DurabilityNotConfigured(FlowxError):
    """A durable flow on a host without a journal: give the host one, or make the flow ephemeral."""

    code: ClassVar[str] = "flow.durability_not_configured"


class ProfileIsNotDurable(FlowxError):
    """What was asked for needs a journal, and the flow keeps none: give it `profile=Profile.DURABLE`."""

    code: ClassVar[str] = "flow.profile_is_not_durable"


class NotAPlan(FlowxError):
    """A host runs compiled plans, not flow classes: run `flowx build` and give it the generated `CATALOG`."""

    code: ClassVar[str] = "host.not_a_plan"


class InputMismatch(FlowxError):
    """The input is not of the flow's input contract."""

    code: ClassVar[str] = "flow.input_mismatch"


class IdempotencyConflict(FlowxError):
    """The same idempotency key came with another input: use a new key for a new request."""

    code: ClassVar[str] = "flow.idempotency_conflict"


class CallerNotAuthenticated(FlowxError):
    """The flow needs a signed-in caller. There is no instance."""

    code: ClassVar[str] = "authorization.not_authenticated"


class CallerNotPermitted(FlowxError):
    """The caller lacks a permission that the flow needs. There is no instance."""

    code: ClassVar[str] = "authorization.permission_denied"


class NotASignal(FlowxError):
    """What was delivered is not of a class declared with `@signal`."""

    code: ClassVar[str] = "flow.not_a_signal"


class UnknownInstance(FlowxError):
    """The journal has no such instance."""

    code: ClassVar[str] = "flow.unknown_instance"


class InstanceTerminal(FlowxError):
    """The instance has ended: it takes no signal and cannot be cancelled."""

    code: ClassVar[str] = "flow.instance_terminal"


class NothingToRetry(FlowxError):
    """Nothing of the instance failed that can be tried again."""

    code: ClassVar[str] = "flow.nothing_to_retry"


class NotRunnable(FlowxError):
    """This node does not have the plan that the instance is pinned to: deploy that version next to the new one."""

    code: ClassVar[str] = "flow.not_runnable"


class FlowPaused(FlowxError):
    """The flow, the instance or everything is paused: unpause it first."""

    code: ClassVar[str] = "flow.paused"


class NotAnInstanceId(FlowxError):
    """What was given as an instance id is none."""

    code: ClassVar[str] = "host.not_an_instance_id"


class NotStorableText(FlowxError):
    """A text that was given cannot be kept as it is."""

    code: ClassVar[str] = "host.text_not_storable"


class NotADuration(FlowxError):
    """A setting of the host is no length of time."""

    code: ClassVar[str] = "host.not_a_duration"


class NaiveClock(FlowxError):
    """The host's clock gives instants without a time zone: give it one whose `now()` is timezone-aware."""

    code: ClassVar[str] = "host.naive_clock"


class HostClosed(FlowxError):
    """The host has been left and takes nothing more."""

    code: ClassVar[str] = "host.closed"


class HostForked(FlowxError):
    """The host was made before a fork, and is used after it in the child."""

    code: ClassVar[str] = "host.forked"
