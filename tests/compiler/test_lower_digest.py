"""The digest moves with a flow's meaning, and with nothing else."""

from __future__ import annotations

import pytest

from flowx_compiler.rules.examples import shop
from tests.compiler.small_plans import model_of, source

BODY = """\
flow.step(open_review).compensate_with(close_review)
flow.step(start_job, lambda ctx: ctx.input).with_policy(SAFE_RETRY)
flow.when(lambda ctx: any(line.quantity > LIMIT for line in ctx.input.lines), lambda b: b.step(validate_order))
flow.delay("PT1H")
flow.emit(OrderPlaced, lambda ctx: OrderPlaced(order_id=ctx.input.order_id))"""
MODULE = "LIMIT: Final = 3\nOTHER: Final = 4"


def digest(body: str = BODY, module: str = MODULE, **others: str) -> str:
    return model_of(source(body, module=module), **others).digest


def changed(old: str, new: str) -> str:
    assert old in BODY
    return BODY.replace(old, new)


SAME = {
    "a comment and a blank line": changed("flow.delay", "\n# a pause\nflow.delay"),
    "the layout of code": changed("any(line.quantity > LIMIT for", "any(\n    line.quantity>LIMIT  # more\n    for"),
    "the name of a parameter": changed(
        "lambda ctx: any(line.quantity > LIMIT for line in ctx.",
        "lambda context: any(line.quantity > LIMIT for line in context.",
    ),
    "the name of a loop variable": changed("line.quantity > LIMIT for line in", "item.quantity > LIMIT for item in"),
    "the name of the builder": BODY.replace("lambda b: b.step", "lambda then: then.step"),
    "another spelling of a duration": changed('"PT1H"', '"PT60M"'),
    "a duration as a timedelta": changed('"PT1H"', "timedelta(hours=1)"),
    "one chain": BODY.replace("\nflow", "").replace("flow.step(open_review)", "flow.step(open_review)", 1),
    "quotes": changed('flow.delay("PT1H")', "flow.delay('PT1H')"),
}
MOVED = {
    "another capability": changed("step(validate_order)", "step(open_review)"),
    "no undo": changed(".compensate_with(close_review)", ""),
    "no policy": changed(".with_policy(SAFE_RETRY)", ""),
    "a label": changed(".with_policy(SAFE_RETRY)", '.with_policy(SAFE_RETRY).named("start")'),
    "another wait": changed('"PT1H"', '"PT2H"'),
    "another operator": changed("line.quantity > LIMIT", "line.quantity >= LIMIT"),
    "another constant": changed("> LIMIT", "> OTHER"),
    "another literal": changed("> LIMIT", "> 3"),
    "another member": changed("order_id=ctx.input.order_id", "order_id=ctx.input.order_id.strip()"),
    "an otherwise": changed("b.step(validate_order))", "b.step(validate_order)).otherwise(lambda b: b.fail(TooLate))"),
    "another order": "\n".join(reversed(BODY.splitlines())),
    "a failure event": BODY + "\n" + BODY.splitlines()[-1].replace("flow.emit", "flow.emit_on_failure"),
}  # fmt: skip


@pytest.mark.parametrize("edit", SAME)
def test_it_stays_under(edit: str) -> None:
    assert digest(SAME[edit]) == digest()


@pytest.mark.parametrize("edit", MOVED)
def test_it_moves_with(edit: str) -> None:
    assert digest(MOVED[edit]) != digest()


@pytest.mark.parametrize(
    ("old", "new", "moves"),
    [
        ('"review.open", version="1.0.0"', '"review.open", version="1.4.0"', False),
        ('"review.open", version="1.0.0"', '"review.open", version="2.0.0"', True),
        ("class ManualReview(Contract):\n    ticket: str", "class ManualReview(Contract):\n    ticket: int", True),
        ("class Line(Contract):\n    sku: str", "class Line(Contract):\n    code: str = ''\n    sku: str", True),
        ("class Capture(Contract):\n    reference: str", "class Capture(Contract):\n    reference: int", False),
        ("attempts=3", "attempts=4", True),
        ("    return ManualReview(ticket=request.order_id)", "    return ManualReview(ticket='1')", False),
    ],
)
def test_of_declarations_only_what_the_plan_relies_on_moves_it(old: str, new: str, moves: bool) -> None:
    assert old in shop()
    assert (digest(shop=shop().replace(old, new)) != digest()) is moves


def test_a_local_of_one_scope_is_not_taken_for_one_of_another() -> None:
    one = "flow.when(lambda ctx: [ctx for ctx in (1,)] == ctx, lambda b: b.step(open_review))\nflow.step(start_job)"
    two = "flow.when(lambda ctx: [c for c in (1,)] == ctx, lambda b: b.step(open_review))\nflow.step(start_job)"
    other = "flow.when(lambda ctx: [ctx for c in (1,)] == ctx, lambda b: b.step(open_review))\nflow.step(start_job)"
    assert digest(one) == digest(two)
    assert digest(one) != digest(other)


def test_a_global_that_another_scope_shadows_still_counts() -> None:
    body = "flow.when(lambda ctx: [LIMIT for LIMIT in (1,)] == {}, lambda b: b.step(open_review))\nflow.step(start_job)"
    assert digest(body.format("LIMIT")) != digest(body.format("OTHER"))


def test_a_named_predicate_is_judged_by_what_it_does() -> None:
    module = MODULE + "\n\n\ndef is_large(ctx: FlowContext[PlaceOrder]) -> bool:\n    return ctx.input.total > {}"
    body = "flow.when(is_large, lambda b: b.step(open_review))\nflow.step(start_job)"
    documented = module.replace("bool:\n", 'bool:\n    """Is it?"""\n')
    assert digest(body, module.format("LIMIT")) == digest(body, documented.format("LIMIT"))
    assert digest(body, module.format("LIMIT")) != digest(body, module.format("OTHER"))


ALIKE = {
    "what is added or taken away": ("n += 1", "n -= 1"),
    "what is multiplied or divided": ("n *= 2", "n //= 2"),
    "one of two, or two": ("match n:", "case 1 | 2:", "case [1, 2]:"),
    "one, or a list of one": ("match n:", "case 1:", "case [1]:"),
    "first, or last": ("match n:", "case [1, *_]:", "case [*_, 1]:"),
    "one more, or any": ("match n:", "case [1, *_]:", "case [1, _]:"),
    "how many more": ("match n:", "case [1, _]:", "case [1, _, _]:"),
    "a key": ("match n:", 'case {"a": 1}:', 'case {"b": 1}:'),
    "the others too": ("match n:", 'case {"a": 1, **m}:', 'case {"a": 1}:'),
    "a member": ("match n:", "case complex(real=1):", "case complex(imag=1):"),
    "by place or by name": ("match n:", "case complex(1):", "case complex(real=1):"),
    "the whole of it": ("match n:", "case [1 as m]:", "case [1] as m:"),
    "which of a pair has the rest": ("n = [a for a, *b in [[1, 2]]]", "n = [a for *b, a in [[1, 2]]]"),
    "one, or the only one": ("n = [b for b in [[1]]]", "n = [b for b, in [[1]]]"),
    "how a loop takes it apart": ("", "for a, b in []:", "for a, (b,) in []:"),
    "how a group is met": ("try:\n        n = 2", "except ValueError:", "except* ValueError:"),
    "raw text": (r'n = len(rf"\n{n}")', r'n = len(f"\n{n}")'),
    "what is entered": ("", "with open(n) as (a, b):", "with open(n) as (a, (b,)):"),
}


@pytest.mark.parametrize("name", ALIKE)
def test_it_moves_with_what_reads_nearly_alike(name: str) -> None:
    match ALIKE[name]:
        case ("match n:", one, other):
            texts = [f"match n:\n        {case}\n            return True" for case in (one, other)]
        case (above, one, other):
            texts = [f"{above}\n    {line}\n        n = 3" for line in (one, other)]
        case both:
            texts = list(both)
    seen = set()
    for text in texts:
        module = f"{MODULE}\n\n\ndef holds(ctx) -> bool:\n    n = 1\n    {text}\n    return n > 3"
        seen.add(digest(BODY + "\nflow.when(holds, lambda b: b.step(open_review))", module))
    assert len(seen) == 2
