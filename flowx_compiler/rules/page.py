"""A rule's page: for `flowx explain` and for the documentation, both made from the rule's own file."""

from __future__ import annotations

from textwrap import indent

from flowx_compiler.rules.examples import MARK
from flowx_compiler.rules.registry import RegisteredRule
from flowx_compiler.rules.rule import Example


def page(entry: RegisteredRule) -> str:
    """The page as Markdown."""
    rule = entry.rule
    kind = rule.severity.value + (", a safety rule: never ignored in configuration" if rule.is_safety else "")
    parts = [
        f"# {rule.id}: {rule.name}",
        f"Severity: {kind}.",
        entry.page.strip(),
        "## Refused",
        *(_code(example) for example in entry.invalid),
        "## Accepted",
        *(_code(example) for example in entry.valid),
    ]
    return "\n\n".join(parts) + "\n"


def _code(example: Example) -> str:
    define = "\n".join(
        line.removesuffix(MARK).rstrip() + ("  # here" if line.endswith(MARK) else "")
        for line in example.define.rstrip("\n").splitlines()
    )
    module = "\n".join(
        line.removesuffix(MARK).rstrip() + ("  # here" if line.endswith(MARK) else "")
        for line in example.module.replace("\0", "\\0").rstrip("\n").splitlines()
    )
    head = f"{module}\n\n\n" if module else ""
    former = example.module_before if example.before is None else example.before
    if former is not None:
        was = "\n".join(f"#     {line}".rstrip() for line in former.rstrip("\n").splitlines())
        head = f"# Built before, as version 1.0.0:\n{was}\n{head}"
    decorator = example.decorator.removesuffix(MARK).rstrip() + ("  # here" if example.decorator.endswith(MARK) else "")
    header = example.header.removesuffix(MARK).rstrip() + ("  # here" if example.header.endswith(MARK) else "")
    body = indent(define, "        ")
    signature = "    def define(self, flow: FlowBuilder[PlaceOrder, OrderResult]) -> None:"
    text = f"{head}{decorator}\n{header}\n{signature}\n{body}"
    return f"```python\n{text}\n```"
