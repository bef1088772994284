"""The layout of a plan: constructs to one array whose every target points strictly forward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import assert_never

from flowx_compiler import model
from flowx_compiler.lower import plan_model as plan
from flowx_compiler.lower.lift import Lifter
from flowx_compiler.model import Capability, TypeExpr

_BOOL = TypeExpr("builtins.bool")


class Layout:
    """Lays out one flow. Indices are positions in `nodes`; a node that needs a target is put in when it is known."""

    def __init__(self, lifter: Lifter, flows: Mapping[str, model.Flow]) -> None:
        self._lifter = lifter
        self._flows = flows
        self._taken: set[str] = set()
        self._repeats: Counter[str] = Counter()
        self._nodes: list[plan.Node | None] = []
        self.capabilities: dict[str, Capability] = {}

    def lay_out(self, body: model.Sequence) -> tuple[plan.Node, ...]:
        """The nodes of a flow's body."""
        self._sequence(body)
        nodes = tuple(node for node in self._nodes if node is not None)
        assert len(nodes) == len(self._nodes), "every reserved index was filled"
        for index, node in enumerate(nodes):
            assert node.index == index, "a node stands where it says"
            assert all(index < target <= len(nodes) for target in plan.targets(node)), "a target is not ahead"
        return nodes

    def name(self, wanted: str) -> str:
        """A name in declaration order: the second `ocr.upload` is `ocr.upload#2`."""
        name = wanted
        while name in self._taken:
            self._repeats[wanted] += 1
            name = f"{wanted}#{self._repeats[wanted] + 1}"
        self._taken.add(name)
        return name

    def _sequence(self, body: model.Sequence) -> None:
        for construct in body.constructs:
            self._construct(construct)

    def _construct(self, construct: model.Construct) -> None:
        index = len(self._nodes)
        match construct:
            case model.Step():
                self._nodes.append(self._step(index, construct))
            case model.When():
                self._when(index, construct)
            case model.Switch():
                self._switch(index, construct)
            case model.Parallel():
                self._parallel(index, construct)
            case model.ForEach():
                self._for_each(index, construct)
            case model.SubFlow():
                self._nodes.append(self._sub_flow(index, construct))
            case model.AwaitSignal():
                self._await(index, construct)
            case model.Delay():
                duration = construct.duration
                text = self._lifter.fragment(duration.value, duration.folded)
                self._nodes.append(plan.Delay(index, self.name("flow.delay"), text, duration.folded))
            case model.Poll():
                self._poll(index, construct)
            case model.Emit():
                name = self.name(construct.event.id)
                payload = self._lifter.lift(construct.payload, f"emit_{index}", TypeExpr(construct.event.contract))
                self._nodes.append(plan.Emit(index, name, construct.event, payload))
            case model.Fail():
                error = construct.error
                self._nodes.append(plan.Fail(index, error.name, self._text(error.name), error.code))
            case _:
                assert_never(construct)

    def _step(self, index: int, step: model.Step) -> plan.Step:
        capability = self._use(step.capability.capability)
        request = None
        if step.request is not None:
            request = self._lifter.lift(step.request, f"request_{index}", capability.request)
        policy, fallback = (None, None) if step.policy is None else self._lifter.policy(step.policy)
        return plan.Step(
            index=index,
            name=self.name(step.label.text if step.label is not None else capability.id),
            capability=capability,
            request=request,
            compensation=None if step.compensation is None else self._use(step.compensation.capability),
            policy=policy,
            policy_facts=None if step.policy is None else step.policy.policy,
            fallback=fallback,
        )

    def _when(self, index: int, when: model.When) -> None:
        predicate = self._lifter.lift(when.predicate, f"when_{index}", _BOOL)
        self._nodes.append(None)
        self._sequence(when.then)
        if when.otherwise is None:
            self._nodes[index] = plan.Branch(index, predicate, len(self._nodes))
            return
        jump = self._reserve()
        self._nodes[index] = plan.Branch(index, predicate, len(self._nodes))
        self._sequence(when.otherwise)
        self._close(jump)

    def _switch(self, index: int, switch: model.Switch) -> None:
        selector = self._lifter.lift(switch.selector, f"select_{index}", TypeExpr("builtins.object"))
        self._nodes.append(None)
        cases: list[tuple[plan.Fragment, int]] = []
        jumps: list[int] = []
        for case in switch.cases:
            value = self._lifter.fragment(case.value, case.folded if not isinstance(case.folded, tuple) else None)
            cases.append((value, len(self._nodes)))
            self._sequence(case.block)
            jumps.append(self._reserve())
        default = len(self._nodes)
        if switch.default is not None:
            self._sequence(switch.default)
        for jump in jumps:
            self._close(jump)
        self._nodes[index] = plan.Switch(index, selector, tuple(cases), default)

    def _parallel(self, index: int, parallel: model.Parallel) -> None:
        if len(parallel.branches) == 1:
            self._sequence(parallel.branches[0])  # one branch is no fork
            return
        self._nodes.append(None)
        starts: list[int] = []
        for branch in parallel.branches:
            starts.append(len(self._nodes))
            self._sequence(branch)
        self._nodes[index] = plan.Parallel(index, tuple(starts), len(self._nodes), parallel.merge)

    def _for_each(self, index: int, loop: model.ForEach) -> None:
        item = self._lifter.type_text(loop.item)
        elements = TypeExpr("collections.abc.Sequence", (loop.item,))
        selector = self._lifter.lift(loop.selector, f"each_{index}", elements)
        self._nodes.append(None)
        self._sequence(loop.body)
        self._nodes[index] = plan.ForEach(
            index, selector, loop.item, item, len(self._nodes), loop.max_concurrency, loop.continue_on_error
        )

    def _sub_flow(self, index: int, sub_flow: model.SubFlow) -> plan.SubFlow:
        child = self._flows[sub_flow.flow]
        name = self.name(sub_flow.label.text if sub_flow.label is not None else child.id)
        request = self._lifter.lift(sub_flow.request, f"child_{index}", child.input)
        return plan.SubFlow(index, name, child.id, child.version, request, sub_flow.is_detached)

    def _await(self, index: int, wait: model.AwaitSignal) -> None:
        name = self.name(wait.signal.id)
        timeout = self._lifter.fragment(wait.timeout.value, wait.timeout.folded)
        self._text(wait.signal.contract)
        self._nodes.append(None)
        target = None
        if wait.on_timeout is not None:
            self._sequence(wait.on_timeout)
            target = len(self._nodes)
        self._nodes[index] = plan.AwaitSignal(index, name, wait.signal, timeout, wait.timeout.folded, target)

    def _poll(self, index: int, poll: model.Poll) -> None:
        until = self._lifter.lift(poll.until, f"until_{index}", _BOOL)
        interval = self._lifter.fragment(poll.interval.value, poll.interval.folded)
        timeout = self._lifter.fragment(poll.timeout.value, poll.timeout.folded)
        if poll.signal is not None:
            self._text(poll.signal.contract)
        self._nodes.append(None)
        capability = self._use(poll.capability.capability)
        self._nodes.append(plan.Step(index + 1, self.name(capability.id), capability, None, None, None, None, None))
        target = None
        if poll.on_timeout is not None:
            self._sequence(poll.on_timeout)
            target = len(self._nodes)
        self._nodes[index] = plan.Poll(index, until, interval, timeout, poll.timeout.folded, target, poll.signal)

    def _use(self, capability: Capability) -> Capability:
        self.capabilities.setdefault(capability.name, capability)
        return capability

    def _text(self, qualified: str) -> str:
        return self._lifter.type_text(TypeExpr(qualified))

    def _reserve(self) -> int:
        self._nodes.append(None)
        return len(self._nodes) - 1

    def _close(self, jump: int) -> None:
        self._nodes[jump] = plan.Jump(jump, len(self._nodes))
