"""A step behind a wait that needs what the journal does not keep.

What it detects: a step that binds, by type, a contract with `Sensitive` members, after a wait, delay or poll, or with a
retry of its own, which waits as well.

Why it matters: without a key ring such members are redacted at rest. A run that goes on after the
wait reads its values back from the journal, and fails at the step with `flow.value_redacted`.

What it cannot prove: whether the host is given a key ring, with which members are sealed and restored.

When to suppress: Every host of this application has a key ring; or ignore the rule in the settings.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowx_compiler import model
from flowx_compiler.check.constructs import constructs
from flowx_compiler.check.once_steps import steps_of
from flowx_compiler.findings import Finding, Place, Related
from flowx_compiler.model import Program
from flowx_compiler.rules.rule import WARNING, Example, Rule

RULE = Rule("FLOWX1061", "sensitive-after-a-wait", WARNING)

_CARDS = """\
from flowx_runtime import Sensitive


class Card(Contract):
    number: Sensitive[str]


@capability("card.take", version="1.0.0", authorization=Internal(), idempotent=True)
async def take_card(request: PlaceOrder, ctx: StepContext) -> Card:
    return Card(number=request.order_id)


@capability("card.charge", version="1.0.0", authorization=Internal(), idempotent=True)
async def charge_card(request: Card, ctx: StepContext) -> Capture:
    return Capture(reference=ctx.idempotency_key)
"""

INVALID = (
    Example(
        """\
flow.step(take_card)
flow.delay("PT1H")
flow.step(charge_card)  # <-
""",
        module=_CARDS,
    ),
    Example(
        """\
flow.step(take_card)
flow.step(charge_card).with_policy(SAFE_RETRY)  # <-
""",
        module=_CARDS,
    ),
)

VALID = (
    Example(
        """\
flow.step(take_card).step(charge_card)
flow.delay("PT1H")
""",
        module=_CARDS,
    ),
)


def check(program: Program) -> Iterator[Finding]:
    """Every bound step behind the first wait of a durable flow whose request has sensitive members."""
    for flow in program.flows.values():
        waited: Place | None = None
        for construct in constructs(flow.body):
            match construct:
                case model.AwaitSignal() | model.Delay() | model.Poll():
                    waited = waited or construct.place
                case model.Step(request=None, capability=reference) if flow.is_durable:
                    waits = waited or _retried(program, construct)
                    if waits is None:
                        continue
                    contract = program.contracts.get(reference.capability.request.name)
                    members = [member.name for member in contract.fields if member.is_sensitive] if contract else []
                    if members:
                        name = reference.capability.request.name.rpartition(".")[2]
                        yield RULE.finding(
                            reference.place,
                            f"{reference.capability.id!r} binds {name}, whose {', '.join(members)} "
                            f"the journal does not keep without a key ring",
                            label="redacted when the run goes on",
                            help="do the step before the wait, fetch the value anew, or give the host a key ring",
                            related=(Related(waits, "the run may go on elsewhere after this"),),
                        )
                case _:
                    pass


def _retried(program: Program, step: model.Step) -> Place | None:
    """Where a step says that it is tried again, itself or in a step inside its capability."""
    policy = None if step.policy is None else step.policy.policy
    if policy is not None and policy.retry is not None and policy.retry.attempts != 1:
        return policy.retry.place
    for body in steps_of(program, step.capability.capability):
        for inner in body.steps:
            if inner.kind == "once" and inner.argument("retry") is not None:
                return inner.place
    return None
