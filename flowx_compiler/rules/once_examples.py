"""Examples of capabilities that have steps of their own."""

from __future__ import annotations

from textwrap import indent

from flowx_compiler.rules.rule import Example

_CHARGE = """\
async def charge(total: int) -> str:
    return "receipt"


"""
_BANK = """\
from typing import Protocol


class Bank(Protocol):
    async def charge(self, total: int) -> str: ...
    async def confirm(self, receipt: str) -> None: ...


@capability("example.pay", version="1.0.0", authorization=Internal(), side_effects=("bank",))
class Pay:
    def __init__(self, bank: Bank) -> None:
        self.bank = bank

"""


def paying(
    body: str, *, before: str = "", is_async: bool = True, is_marked: bool = False, formerly: str | None = None
) -> Example:
    """A capability `pay` with a body, in which a request is an order and a function `charge` is at hand.

    Args:
        body: what it does.
        before: further text at module level.
        is_async: whether it is an `async def`.
        is_marked: whether a rule fires at its decorator.
        formerly: the body that was built before.
    """

    def module(text: str, mark: str = "") -> str:
        decorator = f'@capability("example.pay", version="1.0.0", authorization=Internal(), idempotent=True){mark}'
        head = f"{'async ' if is_async else ''}def pay(request: PlaceOrder, ctx: StepContext) -> ManualReview:"
        return f"{before}{_CHARGE}{decorator}\n{head}\n{indent(text, '    ')}"

    return Example(
        "flow.step(pay)\n",
        module=module(body, "  # <-" if is_marked else ""),
        module_before=None if formerly is None else module(formerly),
    )


def banking(body: str, *, method: str = "") -> Example:
    """A capability class that was given a bank, with the body of its `execute`.

    Args:
        body: what it does.
        method: another method of the class.
    """
    head = "    async def execute(self, request: PlaceOrder, ctx: StepContext) -> ManualReview:"
    more = f"\n{indent(method, '    ')}" if method else ""
    return Example("flow.step(Pay)\n", module=f"{_BANK}{head}\n{indent(body, '        ')}{more}")
