"""Traces and metrics by OpenTelemetry, for whatever exporter the process has set up.

Names begin with `flowx`. What tells instances apart is on spans and never on a metric.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import ClassVar, Final, TypeVar

from flowx_runtime.authoring.errors import FlowxError
from flowx_runtime.journal.records import State
from flowx_runtime.telemetry.contract import CallEnd, CallFacts, Counts, FlowFacts, FlowRest


class TelemetryMissing(FlowxError):
    """Telemetry needs a package that is not installed; the message names the extra."""

    code: ClassVar[str] = "telemetry.missing"


try:
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation, get_meter_provider
    from opentelemetry.trace import Span, Status, StatusCode, TracerProvider, get_tracer_provider
except ImportError as error:
    raise TelemetryMissing("OpenTelemetry is not installed: pip install 'flowx-durable[otel]'") from error

K = TypeVar("K", bound=tuple[str, ...])

_SCOPE: Final = "flowx"
_UNHANDLED: Final = "capability.unhandled"


class OpenTelemetry:
    """Reports of a host as spans and instruments; give it to `FlowHost(telemetry=…)`.

    Args:
        tracer_provider: where spans go; the process's own by default.
        meter_provider: where measurements go, likewise.
    """

    def __init__(
        self, *, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        self._tracer = (tracer_provider or get_tracer_provider()).get_tracer(_SCOPE)
        meter = (meter_provider or get_meter_provider()).get_meter(_SCOPE)
        self._meter = meter
        self._active = meter.create_up_down_counter("flowx_flow_active", description="Instances being gone on with.")
        self._flows = meter.create_counter("flowx_flow_total", description="Instances that ended, by state.")
        self._flow_seconds = meter.create_histogram(
            "flowx_flow_duration_seconds", "s", description="From an instance's start to its end, waits included."
        )
        self._compensation_failed = meter.create_counter(
            "flowx_flow_compensation_failed_total", description="Instances that could not be undone whole."
        )
        self._call_seconds = meter.create_histogram(
            "flowx_capability_duration_seconds", "s", description="Calls of capabilities, by how they ended."
        )
        self._unhandled = meter.create_counter(
            "flowx_capability_unhandled_total", description="Calls that raised what is no business error."
        )
        self._commit_seconds = meter.create_histogram(
            "flowx_journal_commit_seconds", "s", description="Commits, as long as their callers waited."
        )
        self._late_seconds = meter.create_histogram(
            "flowx_wait_lateness_seconds", "s", description="How late instances were taken up whose wait had ended."
        )
        self._lost = meter.create_counter("flowx_lease_lost_total", description="Leases that could not be renewed.")

    @contextmanager
    def going_on(self, flow: FlowFacts) -> Iterator[Callable[[FlowRest], None]]:
        labels = {"flowx.flow.id": flow.flow_id, "flowx.flow.version": flow.flow_version}
        about = labels | {"flowx.flow.profile": flow.profile, "flowx.flow.instance_id": str(flow.instance_id)}
        if flow.tenant_id is not None:
            about["flowx.tenant.id"] = flow.tenant_id
        self._active.add(1, labels)
        try:
            with self._tracer.start_as_current_span(
                f"flow {flow.flow_id}", attributes=about, record_exception=False, set_status_on_exception=False
            ) as span:

                def came_to_rest(rest: FlowRest) -> None:
                    span.set_attribute("flowx.flow.state", rest.state.value)
                    _mark_failed(span, rest.error_code, rest.error_category)
                    if rest.state.is_terminal:
                        ended = labels | {"flowx.flow.state": rest.state.value}
                        self._flows.add(1, ended)
                        self._flow_seconds.record(max(rest.since_start.total_seconds(), 0), ended)
                    if rest.state is State.COMPENSATION_FAILED:
                        self._compensation_failed.add(1, labels)

                yield came_to_rest
        finally:
            self._active.add(-1, labels)

    @contextmanager
    def calling(self, call: CallFacts) -> Iterator[Callable[[CallEnd], None]]:
        labels = {"flowx.flow.id": call.flow_id, "flowx.capability.id": call.capability_id}
        about: dict[str, str | int] = {
            **labels,
            "flowx.capability.version": call.capability_version,
            "flowx.flow.instance_id": str(call.instance_id),
            "flowx.step.id": call.step,
            "flowx.attempt": call.attempt,
        }
        if call.undoes is not None:
            about["flowx.compensating_for"] = call.undoes
        began = time.perf_counter()
        kind = "step" if call.undoes is None else "undo"
        with self._tracer.start_as_current_span(
            f"{kind} {call.step}", attributes=about, record_exception=False, set_status_on_exception=False
        ) as span:

            def ended(end: CallEnd) -> None:
                span.set_attribute("flowx.outcome", end.outcome)
                _mark_failed(span, end.error_code, end.error_category)
                self._call_seconds.record(time.perf_counter() - began, labels | {"flowx.outcome": end.outcome})
                if end.error_code == _UNHANDLED:
                    self._unhandled.add(1, labels)

            yield ended

    def committed(self, took: timedelta, outcome: str) -> None:
        self._commit_seconds.record(took.total_seconds(), {"flowx.outcome": outcome})

    def woken(self, late: timedelta) -> None:
        self._late_seconds.record(late.total_seconds())

    def leases_lost(self, count: int) -> None:
        self._lost.add(count)

    def counts(self, read: Callable[[], Counts]) -> None:
        self._observe(
            "flowx_instance_not_runnable_total",
            "Times a sweep met an instance whose plan this node does not have.",
            lambda: read().not_runnable,
            "flowx.flow.id",
            "flowx.flow.version",
        )
        self._observe(
            "flowx_schedule_occurrences_total",
            "Occurrences of schedules that were fired, skipped or lost.",
            lambda: read().occurrences,
            "flowx.flow.id",
            "flowx.outcome",
        )
        self._observe(
            "flowx_outbox_events_total",
            "Events that were published, tries that failed, and events set aside as poisoned.",
            lambda: {(what,): count for what, count in read().events.items()},
            "flowx.outcome",
        )
        self._observe(
            "flowx_instance_long_history_total",
            "Instances whose history has passed ten thousand rows, which are read whenever one goes on.",
            lambda: {(flow,): count for flow, count in read().long_histories.items()},
            "flowx.flow.id",
        )

    def _observe(self, name: str, says: str, read: Callable[[], Mapping[K, int]], *labels: str) -> None:
        def observed(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(count, dict(zip(labels, values, strict=True))) for values, count in read().items()]

        self._meter.create_observable_counter(name, [observed], description=says)


def _mark_failed(span: Span, code: str | None, category: str | None) -> None:
    """The code alone: what an error says may hold what nobody is to read."""
    if code is not None:
        span.set_attribute("flowx.error.code", code)
        span.set_attribute("flowx.error.category", category or "")
        span.set_status(Status(StatusCode.ERROR, code))
