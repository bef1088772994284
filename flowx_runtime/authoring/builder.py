"""The builder a definition is written against: types for editors and checkers, inert at run time.

Each call returns the narrowest type that says what may come next, so that a misplaced call is an
error in the editor. Nothing here does anything: the compiler reads the calls, and calling one
raises `DefinitionNotCompiled`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Protocol, TypeVar, overload

from flowx_runtime.authoring.errors import FlowError, FlowxError
from flowx_runtime.authoring.merge import Merge
from flowx_runtime.authoring.vocabulary import SubFlowMode

if TYPE_CHECKING:
    from flowx_runtime.authoring.backoff import Backoff
    from flowx_runtime.authoring.contexts import FlowContext, StepContext
    from flowx_runtime.authoring.flows import Flow
    from flowx_runtime.authoring.policies import PolicySet

In = TypeVar("In")
Out = TypeVar("Out")
Req = TypeVar("Req")
Res = TypeVar("Res")
Req_contra = TypeVar("Req_contra", contravariant=True)
Res_co = TypeVar("Res_co", covariant=True)
ChildIn = TypeVar("ChildIn")
ChildOut = TypeVar("ChildOut")
Item = TypeVar("Item")
Value = TypeVar("Value")
Message = TypeVar("Message")

Duration = str | timedelta


class DefinitionNotCompiled(FlowxError):
    """A `define` body was called. Run `flowx build` and use the generated plan."""

    code: ClassVar[str] = "flow.definition_not_compiled"


class AsyncCapability(Protocol[Req_contra, Res_co]):
    """A capability class whose `execute` is `async def`."""

    def execute(self, request: Req_contra, ctx: StepContext, /) -> Awaitable[Res_co]: ...


class SyncCapability(Protocol[Req_contra, Res_co]):
    """A capability class whose `execute` is a plain `def`; it runs in a worker thread."""

    def execute(self, request: Req_contra, ctx: StepContext, /) -> Res_co: ...


def _inert() -> NoReturn:
    raise DefinitionNotCompiled(
        "a flow's define() is read by the compiler and never run: run `flowx build` and use the generated plan"
    )


class FlowBuilder(Generic[In, Out]):
    """Appends constructs to a flow or to a block of one."""

    __slots__ = ()

    @overload
    def step(
        self,
        capability: type[AsyncCapability[Req, Res]],
        request: Callable[[FlowContext[In]], Req] | None = None,
        /,
    ) -> StepBuilder[In, Out, Req, Res]: ...
    @overload
    def step(
        self,
        capability: type[SyncCapability[Req, Res]],
        request: Callable[[FlowContext[In]], Req] | None = None,
        /,
    ) -> StepBuilder[In, Out, Req, Res]: ...
    @overload
    def step(
        self,
        capability: Callable[[Req, StepContext], Awaitable[Res]],
        request: Callable[[FlowContext[In]], Req] | None = None,
        /,
    ) -> StepBuilder[In, Out, Req, Res]: ...
    @overload
    def step(
        self,
        capability: Callable[[Req, StepContext], Res],
        request: Callable[[FlowContext[In]], Req] | None = None,
        /,
    ) -> StepBuilder[In, Out, Req, Res]: ...
    def step(self, capability: Any, request: Any = None, /) -> Any:
        """Run one capability; its request is bound by type from earlier results, or mapped."""
        _inert()

    def when(self, predicate: Callable[[FlowContext[In]], bool], block: Block[In, Out], /) -> WhenBuilder[In, Out]:
        """Run the block only if the predicate holds."""
        _inert()

    def switch(self, selector: Callable[[FlowContext[In]], Value], /) -> SwitchBuilder[In, Out, Value]:
        """Choose one of several blocks; the selector is evaluated once, the first match wins."""
        _inert()

    def parallel(self, *branches: Branch[In, Out], merge: Merge = Merge.ALL_MUST_SUCCEED) -> FlowBuilder[In, Out]:
        """Run branches (capabilities or blocks) side by side and join them by the merge rule."""
        _inert()

    def for_each(
        self,
        selector: Callable[[FlowContext[In]], Sequence[Item]],
        block: Block[In, Out],
        /,
        *,
        max_concurrency: int = 1,
        continue_on_error: bool = False,
    ) -> FlowBuilder[In, Out]:
        """Run the block once per element of a sequence that is read once."""
        _inert()

    def sub_flow(
        self,
        flow: type[Flow[ChildIn, ChildOut]],
        request: Callable[[FlowContext[In]], ChildIn],
        /,
        *,
        mode: SubFlowMode = SubFlowMode.INLINE,
    ) -> SubFlowBuilder[In, Out]:
        """Start another flow: as part of this one (`INLINE`), or on its own (`DETACHED`).

        The output of a finished inline one is left for the steps after it, as a step's result is.
        """
        _inert()

    def await_signal(self, signal: type[Message], /, *, timeout: Duration) -> AwaitBuilder[In, Out]:
        """Park until the signal is delivered or the timeout passes."""
        _inert()

    def delay(self, duration: Duration, /) -> FlowBuilder[In, Out]:
        """Park on the clock."""
        _inert()

    def poll_until(
        self,
        capability: AnyCapability,
        /,
        *,
        until: Callable[[FlowContext[In]], bool],
        interval: Backoff,
        timeout: Duration,
    ) -> PollBuilder[In, Out]:
        """Ask a capability again and again until its answer satisfies; the first attempt is at once."""
        _inert()

    def emit(self, event: type[Message], payload: Callable[[FlowContext[In]], Message], /) -> FlowBuilder[In, Out]:
        """Stage an event in the same commit as this step."""
        _inert()

    def emit_on_failure(
        self, event: type[Message], payload: Callable[[FlowContext[In]], Message], /
    ) -> FlowBuilder[In, Out]:
        """Stage an event only when the flow fails; it may read `ctx.error`."""
        _inert()

    def fail(self, error: type[FlowError], /) -> Ended:
        """End the flow with a business error and unwind."""
        _inert()

    def returns(self, projection: Callable[[FlowContext[In]], Out], /) -> Ended:
        """Say the flow's output; last at top level."""
        _inert()


class Ended:
    """Nothing may follow: the block or the flow has ended."""

    __slots__ = ()


class StepBuilder(FlowBuilder[In, Out], Generic[In, Out, Req, Res]):
    """After a step: its undo, its policies and its name, in any order, once each."""

    __slots__ = ()

    @overload
    def compensate_with(self, capability: type[AsyncCapability[Req, object]], /) -> StepBuilder[In, Out, Req, Res]: ...
    @overload
    def compensate_with(self, capability: type[AsyncCapability[Res, object]], /) -> StepBuilder[In, Out, Req, Res]: ...
    @overload
    def compensate_with(self, capability: type[SyncCapability[Req, object]], /) -> StepBuilder[In, Out, Req, Res]: ...
    @overload
    def compensate_with(self, capability: type[SyncCapability[Res, object]], /) -> StepBuilder[In, Out, Req, Res]: ...
    @overload
    def compensate_with(
        self, capability: Callable[[Req, StepContext], object], /
    ) -> StepBuilder[In, Out, Req, Res]: ...
    @overload
    def compensate_with(
        self, capability: Callable[[Res, StepContext], object], /
    ) -> StepBuilder[In, Out, Req, Res]: ...
    def compensate_with(self, capability: Any, /) -> Any:
        """Undo this step, when the flow fails later, with its recorded request or result."""
        _inert()

    def with_policy(self, policy: PolicySet, /) -> StepBuilder[In, Out, Req, Res]:
        """Run this step under a policy set."""
        _inert()

    def named(self, label: str, /) -> StepBuilder[In, Out, Req, Res]:
        """Give the step a name that survives edits around it."""
        _inert()


class WhenBuilder(FlowBuilder[In, Out]):
    """After a conditional: its other arm, once."""

    __slots__ = ()

    def otherwise(self, block: Block[In, Out], /) -> FlowBuilder[In, Out]:
        """Run this block if the predicate did not hold."""
        _inert()


class SwitchBuilder(Generic[In, Out, Value]):
    """After a switch: at least one case."""

    __slots__ = ()

    def case(self, value: Value, block: Block[In, Out], /) -> CaseBuilder[In, Out, Value]:
        """Run the block if the selector gave this value."""
        _inert()


class CaseBuilder(FlowBuilder[In, Out], Generic[In, Out, Value]):
    """After a case: more cases, or the default."""

    __slots__ = ()

    def case(self, value: Value, block: Block[In, Out], /) -> CaseBuilder[In, Out, Value]:
        """Run the block if the selector gave this value."""
        _inert()

    def default(self, block: Block[In, Out], /) -> FlowBuilder[In, Out]:
        """Run this block if no case matched."""
        _inert()


class SubFlowBuilder(FlowBuilder[In, Out]):
    """After a sub-flow: its name."""

    __slots__ = ()

    def named(self, label: str, /) -> FlowBuilder[In, Out]:
        """Give the step a name that survives edits around it."""
        _inert()


class AwaitBuilder(FlowBuilder[In, Out]):
    """After a wait: what to do when its time is up, once."""

    __slots__ = ()

    def on_timeout(self, block: Block[In, Out], /) -> FlowBuilder[In, Out]:
        """Run this block when the wait's time is up; both paths rejoin after it."""
        _inert()


class PollBuilder(AwaitBuilder[In, Out]):
    """After a poll: its second ending, once, then its timeout."""

    __slots__ = ()

    def or_signal(self, signal: type[Message], /) -> AwaitBuilder[In, Out]:
        """End the poll early when this signal is delivered."""
        _inert()


AnyCapability = Callable[[Any, "StepContext"], Any] | type[AsyncCapability[Any, Any]] | type[SyncCapability[Any, Any]]
Block = Callable[[FlowBuilder[In, Out]], object]
Branch = Block[In, Out] | AnyCapability
