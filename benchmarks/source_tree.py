"""A project as large as real ones are: a thousand files, of which a hundred define flows of 60 to 350 lines."""

from __future__ import annotations

import random
from pathlib import Path

FILES = 1000
FLOWS = 100
SHORTEST = 60
LONGEST = 350
_PLAIN_IN_A_PACKAGE = 50

_HEAD = '''\
"""{words}."""

from __future__ import annotations

from datetime import timedelta

from flowx_runtime import (
    Backoff,
    Category,
    Contract,
    Flow,
    FlowBuilder,
    FlowError,
    Internal,
    PolicySet,
    Profile,
    Retry,
    StepContext,
    capability,
    flow,
)

CAREFUL = PolicySet("careful", retry=Retry(4, Backoff.exponential_jitter("PT1S", "PT1M")), timeout="PT10S")
PATIENCE = timedelta(minutes=30)


class Request{n}(Contract):
    """What is asked for."""

    order_id: str
    amount: int
    urgent: bool = False


class Answer{n}(Contract):
    """What comes back."""

    order_id: str
    total: int


class Refused{n}(FlowError, code="order{n}.refused", category=Category.CONFLICT):
    """The order cannot be had."""
'''

_STEP = '''

class Asked{n}x{k}(Contract):
    """What step {k} takes."""

    order_id: str
    amount: int


class Done{n}x{k}(Contract):
    """What step {k} gives."""

    reference: str
    accepted: bool
    amount: int


@capability(
    "order{n}.step{k}",
    version="1.0.0",
    authorization=Internal(),
    idempotent=True,
    side_effects=("ledger",),
)
async def step_{k}(request: Asked{n}x{k}, ctx: StepContext) -> Done{n}x{k}:
    """Do part {k} of the order."""
    total = request.amount + {k}
    for part in range({k}):
        if part % 3 == 0:
            total += part
    return Done{n}x{k}(reference=f"{{request.order_id}}-{k}", accepted=total > 0, amount=total)
'''

_DEFINE_HEAD = '''

@flow("order{n}.process", version="1.0.0", profile=Profile.DURABLE, deadline="P2D")
class Process{n}(Flow[Request{n}, Answer{n}]):
    """Take an order through its parts."""

    def define(self, flow: FlowBuilder[Request{n}, Answer{n}]) -> None:
'''

_DEFINE_STEP = """\
        flow.step(
            step_{k},
            lambda ctx: Asked{n}x{k}(order_id=ctx.input.order_id, amount=ctx.input.amount + {k}),
        ).with_policy(CAREFUL)
"""

_DEFINE_CHOICE = """\
        flow.when(
            lambda ctx: ctx.get(Done{n}x{k}).accepted and ctx.input.urgent,
            lambda urgent: urgent.delay(PATIENCE),
        ).otherwise(lambda refused: refused.fail(Refused{n}))
"""

_DEFINE_END = """\
        flow.returns(lambda ctx: Answer{n}(order_id=ctx.input.order_id, total=ctx.get(Done{n}x0).amount))
"""

_PLAIN_HEAD = '''\
"""Part {n} of the ordinary code of a shop."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
{imports}
RATES: Mapping[str, float] = {{"standard": 0.{n:03d}, "reduced": 0.07}}
{uses}'''

_PLAIN = '''

@dataclass(frozen=True)
class Line{n}x{k}:
    """One line of a document."""

    name: str
    quantity: int
    price: float = 1.0

    def total(self, rates: Mapping[str, float] = RATES) -> float:
        """The price of the line with tax."""
        rate = rates.get(self.name, rates["standard"])
        if self.quantity > {k}:
            return self.quantity * self.price * (1.0 + rate) * 0.95
        return self.quantity * self.price * (1.0 + rate)


def read_lines_{k}(text: str) -> list[Line{n}x{k}]:
    """Lines from JSON; those without a name are left out."""
    found: list[Line{n}x{k}] = []
    for row in json.loads(text):
        try:
            found.append(Line{n}x{k}(name=str(row["name"]), quantity=int(row["quantity"]), price=float(row["price"])))
        except (KeyError, ValueError):
            continue
    return found


def summary_{k}(lines: Iterable[Line{n}x{k}]) -> dict[str, float]:
    """Totals by name, largest first."""
    totals: dict[str, float] = {{}}
    for line in lines:
        totals[line.name] = totals.get(line.name, 0.0) + line.total()
    return dict(sorted(totals.items(), key=lambda item: (-item[1], item[0])))
'''


def write_tree(root: Path, *, files: int = FILES, flows: int = FLOWS, seed: int = 7) -> int:
    """Write the project; gives its number of lines. The same seed gives the same bytes."""
    dice = random.Random(seed)
    packages = -(-(files - flows) // _PLAIN_IN_A_PACKAGE)
    texts = {"pyproject.toml": '[tool.flowx]\nsources = ["shop"]\nplans = "shop_plans"\n'}
    texts |= {f"shop/{package}__init__.py": "" for package in ("", "flows/", *(f"part{n}/" for n in range(packages)))}
    for number in range(flows):
        texts[f"shop/flows/order{number}.py"] = _flow_module(number, dice.randint(SHORTEST, LONGEST))
    for number in range(files + 1 - len(texts)):
        package, place = divmod(number, _PLAIN_IN_A_PACKAGE)
        texts[f"shop/part{package}/module{place}.py"] = _plain_module(number, dice.randint(SHORTEST, LONGEST))
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return sum(text.count("\n") for name, text in texts.items() if name.endswith(".py"))


def _flow_module(number: int, lines: int) -> str:
    fixed = sum(_HEAD.count("\n") + part.count("\n") for part in (_DEFINE_HEAD, _DEFINE_CHOICE, _DEFINE_END)) - 100
    each = _STEP.count("\n") + _DEFINE_STEP.count("\n")
    steps = max(1, (lines - fixed) // each)
    parts = [_HEAD.format(n=number, words=f"Order {number}, in {steps} steps")]
    parts += [_STEP.format(n=number, k=step) for step in range(steps)]
    parts.append(_DEFINE_HEAD.format(n=number))
    for step in range(steps):
        parts.append(_DEFINE_STEP.format(n=number, k=step))
        if step % 3 == 2:
            parts.append(_DEFINE_CHOICE.format(n=number, k=step))
    parts.append(_DEFINE_END.format(n=number))
    return "".join(parts)


def _plain_module(number: int, lines: int) -> str:
    package, place = divmod(number, _PLAIN_IN_A_PACKAGE)
    imports = uses = ""
    if number % 7 == 0:
        imports += f"\nfrom shop.flows.order{number % 50} import Request{number % 50}\n"
        uses += f'EXAMPLE = Request{number % 50}(order_id="o", amount={number})\n'
    if place:
        imports += "" if imports else "\n"
        imports += f"from shop.part{package}.module{place - 1} import RATES as EARLIER\n"
        uses += "CHANGED = {name for name, rate in RATES.items() if EARLIER[name] != rate}\n"
    parts = [_PLAIN_HEAD.format(n=number, imports=imports, uses=uses)]
    parts += [_PLAIN.format(n=number, k=part) for part in range(max(1, lines // _PLAIN.count("\n")))]
    return "".join(parts)
