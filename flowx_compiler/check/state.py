"""Code that changes something that outlives the call: attributes, class-level values, module-level containers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from flowx_compiler.check.nodes import nodes
from flowx_compiler.check.reads import qualified
from flowx_compiler.findings import Place
from flowx_compiler.model import Program
from flowx_compiler.syntax import (
    Assign,
    Attribute,
    Call,
    Class,
    Compound,
    Display,
    Expr,
    Function,
    Name,
    Other,
    Span,
    Subscript,
)

_MUTATORS = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse"}
    | {"setdefault", "sort", "update"}
)
_CONTAINERS = frozenset(
    {"builtins.list", "builtins.dict", "builtins.set", "collections.defaultdict", "collections.deque"}
    | {"collections.Counter", "collections.OrderedDict"}
)
_CACHES = frozenset({"functools.cache", "functools.lru_cache", "functools.cached_property"})
_BUILDERS = ("__init__", "__post_init__", "__new__", "__init_subclass__")


@dataclass(frozen=True, slots=True)
class StateChange:
    """One change, told as what its owner does."""

    what: str
    place: Place
    name: str = ""
    """The variable, for a change of the module's."""


def class_state(program: Program, module: str, syntax: Class) -> Iterator[StateChange]:
    """What a capability or flow class keeps between calls."""
    file = program.modules[module].file
    owned = _made_by(program, module, syntax)
    for statement in syntax.body:
        match statement:
            case Assign(targets=(Name(id=name),), value=value, span=span) if (
                value is not None and _is_container(program, module, value) and not name.startswith("__")
            ):
                yield StateChange(f"has the mutable class attribute `{name}`", Place(file, span))
            case Function(name=method, parameters=parameters) if method not in _BUILDERS:
                for decorator in statement.decorators:
                    target = decorator.function if isinstance(decorator, Call) else decorator
                    if qualified(program, module, target) in _CACHES:
                        yield StateChange(f"caches the answers of `{method}`", Place(file, decorator.span))
                holders = {parameters[0].name, syntax.name} if parameters else {syntax.name}
                for what, span in _changes_of_attributes(program, statement, holders, owned):
                    yield StateChange(what, Place(file, span))
                yield from function_state(program, module, statement)
            case _:
                pass


def function_state(program: Program, module: str, function: Function) -> Iterator[StateChange]:
    """What a function changes of its module."""
    file = program.modules[module].file
    containers = _module_containers(program, module)
    local = {parameter.name for parameter in function.parameters} | _assigned(program, function)
    for node in nodes(program, function.body):
        match node:
            case Other(kind="global", names=names, span=span):
                for name in names:
                    yield StateChange(f"rebinds `{name}` of its module", Place(file, span), name)
            case Assign(targets=targets, span=span):
                for target in targets:
                    if isinstance(target, Subscript) and (name := _root(target.value)) in containers - local:
                        yield StateChange(f"changes `{name}` of its module", Place(file, span), name)
            case Call(function=Attribute(value=Name(id=name), attr=method), span=span) if (
                method in _MUTATORS and name in containers - local
            ):
                yield StateChange(f"changes `{name}` of its module", Place(file, span), name)
            case _:
                pass


def changing_names(program: Program, module: str) -> frozenset[str]:
    """Module-level variables that may not stay what they were first.

    They are rebound, changed by a function of the module, or a list, dict or set that is not even declared `Final`.
    """
    return program.once("changing names", module, lambda: _changing_names(program, module))


def _changing_names(program: Program, module: str) -> frozenset[str]:
    statements = program.modules[module].body
    bound = Counter(
        target.id
        for statement in statements
        if isinstance(statement, Assign) and statement.value is not None
        for target in statement.targets
        if isinstance(target, Name)
    )
    functions = [statement for statement in statements if isinstance(statement, Function)]
    functions += [
        method
        for statement in statements
        if isinstance(statement, Class)
        for method in statement.body
        if isinstance(method, Function)
    ]
    changed = {change.name for function in functions for change in function_state(program, module, function)}
    rebound = {name for name, times in bound.items() if times > 1}
    return frozenset((rebound | changed | _open_containers(program, module)) & bound.keys())


def _open_containers(program: Program, module: str) -> set[str]:
    return {
        target.id
        for statement in program.modules[module].body
        if isinstance(statement, Assign)
        and statement.value is not None
        and _is_container(program, module, statement.value)
        and not _is_final(program, module, statement.annotation)
        for target in statement.targets
        if isinstance(target, Name)
    }


def _is_final(program: Program, module: str, annotation: Expr | None) -> bool:
    base = annotation.value if isinstance(annotation, Subscript) else annotation
    return base is not None and qualified(program, module, base) in ("typing.Final", "typing_extensions.Final")


def _changes_of_attributes(
    program: Program, function: Function, holders: set[str], owned: frozenset[str]
) -> Iterator[tuple[str, Span]]:
    for node in nodes(program, function.body):
        match node:
            case Assign(targets=targets, span=span):
                for target in targets:
                    base = target.value if isinstance(target, Subscript) else target
                    match base:
                        case Attribute(value=Name(id=holder), attr=attribute) if holder in holders and (
                            base is target or attribute in owned
                        ):
                            yield f"assigns `{holder}.{attribute}` outside `__init__`", span
                        case _:
                            pass
            case Call(function=Attribute(value=Attribute(value=Name(id=holder), attr=attribute), attr=method)) if (
                holder in holders and attribute in owned and method in _MUTATORS
            ):
                yield f"changes `{holder}.{attribute}`", node.span
            case Call(function=Name(id="setattr"), arguments=(first, *_), span=span) if _root(first.value) in holders:
                yield f"sets an attribute of `{_root(first.value)}` outside `__init__`", span
            case _:
                pass


def _made_by(program: Program, module: str, syntax: Class) -> frozenset[str]:
    """Attributes that the class itself binds to a container, so that a mutator's name really is one."""
    made: set[str] = set()
    for statement in syntax.body:
        match statement:
            case Assign(targets=(Name(id=name),), value=value) if value and _is_container(program, module, value):
                made.add(name)
            case Function(name="__init__", body=body):
                for inner in body:
                    match inner:
                        case Assign(targets=(Attribute(attr=name),), value=value) if value and _is_container(
                            program, module, value
                        ):
                            made.add(name)
                        case _:
                            pass
            case _:
                pass
    return frozenset(made)


def _module_containers(program: Program, module: str) -> frozenset[str]:
    return program.once("containers", module, lambda: _bound_to_containers(program, module))


def _bound_to_containers(program: Program, module: str) -> frozenset[str]:
    return frozenset(
        target.id
        for statement in program.modules[module].body
        if isinstance(statement, Assign) and statement.value and _is_container(program, module, statement.value)
        for target in statement.targets
        if isinstance(target, Name)
    )


def _is_container(program: Program, module: str, value: Expr) -> bool:
    match value:
        case Display(kind="list" | "dict" | "set"):
            return True
        case Compound(kind="list_comprehension" | "dict_comprehension" | "set_comprehension"):
            return True
        case Call(function=function):
            name = qualified(program, module, function)
            if name is None and isinstance(function, Name):
                name = f"builtins.{function.id}"
            return name in _CONTAINERS
        case _:
            return False


def _assigned(program: Program, function: Function) -> set[str]:
    return {
        target.id
        for node in nodes(program, function.body)
        if isinstance(node, Assign)
        for target in node.targets
        if isinstance(target, Name)
    }


def _root(expression: Expr) -> str:
    while isinstance(expression, Attribute | Subscript):
        expression = expression.value
    return expression.id if isinstance(expression, Name) else ""
