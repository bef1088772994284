"""What a capability class calls outside, and what its ports are called."""

from __future__ import annotations

from flowx_compiler.model import Program
from flowx_compiler.syntax import (
    Assign,
    Attribute,
    Call,
    Class,
    Constant,
    Expr,
    Function,
    Name,
    walk,
)


def annotation_of(owner: Class, attribute: str) -> str | None:
    """The last word of the annotation that an attribute, or the constructor's parameter it is set from, has."""
    for statement in owner.body:
        match statement:
            case Assign(targets=(Name(id=name),), annotation=annotation) if annotation is not None:
                if name == attribute:
                    return _last_word(annotation)
            case Function(name="__init__", parameters=parameters, body=body):
                annotations = {parameter.name: parameter.annotation for parameter in parameters}
                for inner in body:
                    match inner:
                        case Assign(targets=(Attribute(value=Name(id="self"), attr=name),), value=Name(id=given)):
                            annotation = annotations.get(given)
                            if name == attribute and annotation is not None:
                                return _last_word(annotation)
                        case _:
                            pass
            case _:
                pass
    return None


def _last_word(annotation: Expr) -> str | None:
    match annotation:
        case Name(id=name):
            return name
        case Attribute(attr=name):
            return name
        case Constant(value=str() as text) if text.isidentifier():
            return text
        case _:
            return None


def is_outbound(call: Expr) -> bool:
    """Whether a call is of a method of something the capability was given: `self.bank.charge(…)`."""
    match call:
        case Call(function=Attribute(value=Attribute(value=Name(id="self")))):
            return True
        case _:
            return False


def outbound_calls(program: Program, module: str, owner: Class | None, work: Expr) -> tuple[tuple[str, Call], ...]:
    """The calls of things outside that the callable of a step makes, itself or in a method of its class; by file."""
    file = program.modules[module].file
    found: dict[int, Call] = {}
    seen: set[str] = set()
    open_parts: list[object] = [work]
    while open_parts:
        part = open_parts.pop()
        for node in walk(part):
            match node:
                case Call() if is_outbound(node):
                    found[id(node)] = node
                case Attribute(value=Name(id="self"), attr=name) if owner is not None and name not in seen:
                    seen.add(name)
                    open_parts += [item.body for item in owner.body if isinstance(item, Function) and item.name == name]
                case _:
                    pass
    return tuple((file, call) for call in sorted(found.values(), key=lambda call: call.span))
