"""Which findings can be mended, and how."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from flowx_compiler.check.constructs import constructs
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Finding, Place
from flowx_compiler.fix.edits import Edit, after, apply_edits
from flowx_compiler.fix.find import call_at, call_inside, context_at, module_of, spelt, text_of
from flowx_compiler.model import Program, Step
from flowx_compiler.syntax import Argument, Attribute, Call, Module, Span

_UTC = frozenset({"datetime.UTC", "datetime.timezone.utc"})
_DRAWS = frozenset({"random", "randint", "randrange", "choice", "choices", "sample", "shuffle", "uniform", "gauss"})


def fixed_texts(program: Program, findings: Iterable[Finding]) -> Mapping[str, str]:
    """The new text of every file that fixes change. Fixing the result again changes nothing."""
    edits: defaultdict[str, list[Edit]] = defaultdict(list)
    for finding in findings:
        fix = FIXABLE.get(finding.id)
        module = module_of(program, finding.place)
        found = list(fix(program, module, finding)) if fix is not None and module is not None else []
        if not any(_holds_a_comment(program, edit) for edit in found):
            for edit in found:
                edits[edit.file].append(edit)
    texts = {}
    for module in program.modules.values():
        if module.file in edits:
            texts[module.file] = apply_edits(module.lines, edits[module.file])
    return dict(sorted(texts.items()))


def _make_durable(program: Program, _: Module, finding: Finding) -> Iterator[Edit]:
    for flow in program.flows.values():
        if not any(construct.place == finding.place for construct in constructs(flow.body)):
            continue
        home = program.modules[flow.module]
        decorator = next((item for item in flow.syntax.decorators if item.span == flow.place.span), None)
        if not isinstance(decorator, Call) or not decorator.arguments:
            return
        profile, imports = spelt(program, home, "Profile")
        yield from imports
        for argument in decorator.arguments:
            if argument.keyword == "profile":
                yield Edit(home.file, argument.value.span, f"{profile}.DURABLE")
                return
        yield Edit(home.file, after(decorator.arguments[-1].span), f", profile={profile}.DURABLE")


def _add_jitter(program: Program, _: Module, finding: Finding) -> Iterator[Edit]:
    for place in (*(related.place for related in finding.related), finding.place):
        home = module_of(program, place)
        call = None if home is None else call_inside(home, place.span, ("fixed", "exponential"))
        if home is None or call is None or not isinstance(call.function, Attribute) or not call.arguments:
            continue
        yield Edit(home.file, call.function.attr_span, "exponential_jitter")
        if call.function.attr == "fixed":
            gap = call.arguments[0]
            named = "ceiling=" if gap.keyword is not None else ""
            text = text_of(home, gap.value.span)
            base = f"base={text}" if gap.keyword is not None else text
            start = Span(call.span.end_line, call.span.end_column - 1, call.span.end_line, call.span.end_column - 1)
            whole = Span(call.function.span.end_line, call.function.span.end_column, start.line, start.column)
            yield Edit(home.file, whole, f"({base}, {named}{text}")
        return


def _use_context(program: Program, module: Module, finding: Finding) -> Iterator[Edit]:
    call = call_at(module, finding.place.span)
    if call is None:
        return
    context = context_at(module, call.span)
    if context is None:
        return
    name = qualified(program, module.name, call.function)
    if name == "datetime.datetime.now" and _is_in_utc(program, module, call):
        yield Edit(module.file, call.span, f"{context}.utc_now")
    elif finding.id == "FLOWX1008" and name == "uuid.uuid4":
        yield Edit(module.file, call.span, f"{context}.new_id()")
    elif finding.id == "FLOWX1008" and name is not None and name.startswith("random.") and name[7:] in _DRAWS:
        yield Edit(module.file, call.function.span, f"{context}.random.{name[7:]}")


def _is_in_utc(program: Program, module: Module, call: Call) -> bool:
    """Whether it gives what the context's clock does: another zone reads otherwise, no zone compares otherwise."""
    match call.arguments:
        case (Argument(value=zone, keyword=None | "tz", star=""),):
            return qualified(program, module.name, zone) in _UTC
        case _:
            return False


def _holds_a_comment(program: Program, edit: Edit) -> bool:
    """Whether a comment would go with what is replaced; a text with `#` counts, and is left to a person too."""
    module = module_of(program, Place(edit.file, edit.span))
    # The last line ends where the replacement does.
    lines = () if module is None else module.lines[edit.span.line - 1 : edit.span.end_line - 1]
    return any("#" in line for line in lines)


def _drop_policy(program: Program, module: Module, finding: Finding) -> Iterator[Edit]:
    call = call_at(module, finding.place.span)
    if call is None or not isinstance(call.function, Attribute):
        return
    for flow in program.flows.values():
        for step in constructs(flow.body):
            if isinstance(step, Step) and step.policy is not None and step.policy.place == finding.place:
                # Other policies of the set still act: then a person must choose.
                if step.policy.policy.kinds == ("compensation_retry",):
                    before = after(call.function.value.span)
                    span = Span(before.line, before.column, call.span.end_line, call.span.end_column)
                    yield Edit(module.file, span, "")
                return


FIXABLE: Mapping[str, Callable[[Program, Module, Finding], Iterator[Edit]]] = {
    "FLOWX1007": _use_context,
    "FLOWX1008": _use_context,
    "FLOWX1011": _use_context,
    "FLOWX1017": _make_durable,
    "FLOWX1033": _drop_policy,
    "FLOWX1060": _add_jitter,
}
