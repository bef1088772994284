"""Business errors that authors declare, and the root of the errors flowx itself raises."""

from __future__ import annotations

import inspect
from typing import ClassVar

from flowx_runtime.authoring.vocabulary import Category


class FlowxError(Exception):
    """Something flowx cannot do; the message says what to do about it.

    Attributes:
        code: a stable dotted name (`flow.plan_stale`) that programs may compare.
    """

    code: ClassVar[str] = "flowx.error"


def said_by(error: BaseException) -> str:
    """What an exception says, whoever made it: one that fails to say anything must still be recorded."""
    try:
        return str(error)
    except Exception as failed:  # its own `__str__`
        return f"<{type(failed).__name__} when it was asked what it says>"


class FlowError(Exception):
    """A business failure that a flow expects; a subclass says its code and category.

    >>> class OutOfStock(FlowError, code="order.out_of_stock", category=Category.CONFLICT):
    ...     \"\"\"Nothing left to reserve.\"\"\"
    >>> OutOfStock.code, str(OutOfStock())
    ('order.out_of_stock', 'Nothing left to reserve.')

    Raised by a capability it fails the step with that code; named in `.fail(...)` it ends the flow.
    """

    code: ClassVar[str] = ""
    category: ClassVar[Category] = Category.INTERNAL

    def __init_subclass__(cls, *, code: str | None = None, category: Category | None = None) -> None:
        super().__init_subclass__()
        if code is not None:
            cls.code = code
        if category is not None:
            cls.category = category

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail if detail is not None else self.default_detail())

    @classmethod
    def default_detail(cls) -> str:
        """The first line of the class's docstring: what the error means when nobody says more."""
        text = inspect.cleandoc(cls.__dict__.get("__doc__") or "").partition("\n")[0]
        return text or cls.code
