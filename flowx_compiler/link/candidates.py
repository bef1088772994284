"""Which files must be read: those that can declare something of flowx.

A file can hold a flow or a capability only if it has a name of the runtime. It has one if it says `flowx`, or if it
imports the name from a module that has it: `acme/base.py` takes `Flow` from the runtime, `acme/orders.py` takes it
from there and never says flowx. What a file imports is looked for in its bytes, because reading nine hundred files
with LibCST to learn that they do not matter would cost more than everything else. The search may find too many files,
never too few.
"""

from __future__ import annotations

from flowx_compiler.link.names import RUNTIME, Names
from flowx_compiler.link.sources import Sources
from flowx_compiler.read.imports import Taken

_MARK = b"flowx"


def read_candidates(sources: Sources, names: Names) -> list[str]:
    """Read every module that can declare something; gives their names in order."""
    found = {file.module for file in sources.files.values() if _MARK in file.source}
    sources.read_all(sorted(found))
    others = {file.module: sources.reader.imports(file) for file in sources.files.values() if file.module not in found}
    carried: dict[str, frozenset[str]] = {}
    fresh = found
    while fresh:
        carried |= {module: _carried(module, names, carried) for module in sorted(fresh)}
        carriers = {module: passed_on for module, passed_on in carried.items() if passed_on}
        fresh = {module for module, taken in others.items() if any(_reaches(item, carriers, sources) for item in taken)}
        sources.read_all(sorted(fresh))
        for module in fresh:
            del others[module]
        found |= fresh
    return sorted(found)


def _carried(module: str, names: Names, carried: dict[str, frozenset[str]]) -> frozenset[str]:
    """The names by which others can take something of the runtime, or a module that has it, from this module."""
    found: set[str] = set()
    for name in names.names(module):
        meant = names.resolve(module, name)
        if meant is not None and (meant in carried or meant == RUNTIME or meant.startswith(f"{RUNTIME}.")):
            found.add(name)
    return frozenset(found)


def _reaches(taken: Taken, carriers: dict[str, frozenset[str]], sources: Sources) -> bool:
    """Whether an import gives a file something that a carrier carries, or the carrier itself."""
    passed_on = carriers.get(taken.source, frozenset())
    if taken.name is None:
        # `import acme` makes every module below it reachable as `acme.…`.
        return bool(passed_on) or _is_above(taken.source.partition(".")[0], carriers, sources)
    if taken.name == "*":
        return bool(passed_on)
    module = f"{taken.source}.{taken.name}"
    return taken.name in passed_on or module in carriers or _is_above(module, carriers, sources)


def _is_above(module: str, carriers: dict[str, frozenset[str]], sources: Sources) -> bool:
    return module in sources.packages and any(carrier.startswith(f"{module}.") for carrier in carriers)
