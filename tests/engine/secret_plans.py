"""A flow whose every way out carries secrets: input, request, result, signal, event, output, error and log."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from engine_plans import FAILED_EVENT, NotInTime, ProcessingFailed, plan, use

from flowx_runtime.authoring.authorization import Internal
from flowx_runtime.authoring.capabilities import capability
from flowx_runtime.authoring.contexts import StepContext
from flowx_runtime.authoring.contracts import Contract, Sensitive
from flowx_runtime.authoring.messages import event, signal
from flowx_runtime.plan import AwaitSignal, Emit, EventUse, Fail, SignalUse, Step
from flowx_runtime.plan.plan import FailureEmit

NAME, CARD, PIN, BORN = "CANARY-ada", "CANARY-4111", 918273645, date(1815, 12, 10)
CANARIES = ("CANARY", "918273645", "1815-12-10", "1815, 12, 10")


class Person(Contract):
    name: Sensitive[str]
    pin: Sensitive[int]
    born: Sensitive[date]


class Apply(Contract):
    id: str
    people: tuple[Person, ...]
    notes: dict[str, Sensitive[str]]


class Account(Contract):
    number: str
    cards: list[Sensitive[str]]
    owner: Person | None = None


@signal("application.approved")
class Approved(Contract):
    by: Sensitive[str]
    code: Sensitive[int]


@event("account.opened", version="1.0.0")
class Opened(Contract):
    number: str
    card: Sensitive[str]
    pin: Sensitive[int]


class Welcome(Contract):
    number: str
    pin: Sensitive[int]


SEEN: list[Any] = []
"""What the capabilities were given."""


@capability("account.open", version="1.0.0", authorization=Internal(), side_effects=("bank",))
async def open_account(request: Apply, ctx: StepContext) -> Account:
    SEEN.append(request)
    message = f"opening for {request.people[0].name}"
    ctx.log.info(message, person=request.people[0], pin=request.people[0].pin)
    return Account(number="7", cards=[CARD], owner=request.people[0])


@capability("account.close", version="1.0.0", authorization=Internal(), idempotent=True)
async def close_account(request: Account, ctx: StepContext) -> None:
    SEEN.append(request)


@capability("account.activate", version="1.0.0", authorization=Internal(), idempotent=True)
async def activate(request: Approved, ctx: StepContext) -> Welcome:
    SEEN.append(request)
    if request.by == "CANARY-nobody":
        raise RuntimeError(f"{request.by} cannot approve {request!r} with {request.code}, nor {[request.code]}")
    return Welcome(number="7", pin=request.code)


OPEN = use(open_account, Apply, Account)
CLOSE = use(close_account, Account, None)
ACTIVATE = use(activate, Approved, Welcome)
APPROVED = SignalUse(Approved, "application.approved")
OPENED = EventUse(Opened, "account.opened", "1.0.0")


def application() -> Apply:
    return Apply(id="a-1", people=(Person(name=NAME, pin=PIN, born=BORN),), notes={"note": "CANARY-note"})


def secret_plan(**changes: Any) -> Any:
    facts: dict[str, Any] = {
        "flow_id": "account.open",
        "input": Apply,
        "output": Welcome,
        "returns": lambda ctx: ctx.get(Welcome),
        "on_failure": (FailureEmit("failed", FAILED_EVENT, lambda ctx: ProcessingFailed(code=ctx.error.code)),),
    }
    return plan(
        Step(0, "account.open", OPEN, compensation=CLOSE),
        AwaitSignal(1, "application.approved", APPROVED, timedelta(days=7), 3),
        Fail(2, NotInTime),
        Step(3, "account.activate", ACTIVATE),
        Emit(
            4,
            "account.opened",
            OPENED,
            lambda ctx: Opened(number="7", card=ctx.get(Account).cards[0], pin=ctx.get(Welcome).pin),
        ),
        **(facts | changes),
    )


def assert_no_canary(text: str) -> None:
    """Hold a text to having no sensitive value in it."""
    found = [canary for canary in CANARIES if canary in text]
    assert not found, found
