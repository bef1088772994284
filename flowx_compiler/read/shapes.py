"""How targets and patterns take a value apart: what is left of them without the values and names in them."""

from __future__ import annotations

import libcst as cst

from flowx_compiler.read.identifiers import identifier


def target_shape(node: cst.BaseExpression) -> str:
    """Of `for (a, *b) in`: `($,*$)`; of one name nothing."""
    return "" if isinstance(node, cst.Name) else _target(node)


def _target(node: cst.BaseExpression) -> str:
    match node:
        case cst.Name():
            return "$"
        case cst.Tuple() | cst.List():
            inner = ",".join(
                f"{'*' if isinstance(element, cst.StarredElement) else ''}{_target(element.value)}"
                for element in node.elements
            )
            return f"({inner})"
        case _:  # `for row.place in`, which binds nothing
            return cst.Module(()).code_for_node(node)


def pattern_shape(node: cst.MatchPattern) -> str:
    """Of `case [1, Order(total=x), *_]`: `[#,#(total=$),*_]`."""
    match node:
        case cst.MatchValue() | cst.MatchSingleton():
            return "#"
        case cst.MatchAs(pattern=None, name=name):
            return "_" if name is None else "$"
        case cst.MatchAs(pattern=cst.MatchPattern() as inner):
            return f"{pattern_shape(inner)} as $"
        case cst.MatchOr():
            return f"({'|'.join(pattern_shape(element.pattern) for element in node.patterns)})"
        case cst.MatchSequence():
            return f"[{','.join(_element(element) for element in node.patterns)}]"
        case cst.MatchMapping():
            entries = [f"#:{pattern_shape(element.pattern)}" for element in node.elements]
            return f"{{{','.join([*entries, *(['**$'] if node.rest is not None else [])])}}}"
        case cst.MatchClass():
            inside = [pattern_shape(element.value) for element in node.patterns]
            inside += [f"{identifier(element.key)}={pattern_shape(element.pattern)}" for element in node.kwds]
            return f"#({','.join(inside)})"
        case _:
            return cst.Module(()).code_for_node(node)


def _element(node: cst.MatchSequenceElement | cst.MatchStar) -> str:
    if isinstance(node, cst.MatchStar):
        return "*_" if node.name is None else "*$"
    return pattern_shape(node.value)
