"""Everything of the project that the code of a plan can reach."""

from __future__ import annotations

from collections.abc import Mapping

from flowx_compiler.lower.meaning import Meaning, References, meaning
from flowx_compiler.model import Program


def reached(program: Program, start: References) -> Mapping[str, Meaning]:
    """What code that reads this reads in the end, by qualified name, sorted.

    A member that code reads of a value is looked for in every class that it has to do with: which of them the value is
    of is not always known, and a reading too many is a change told that is none, one too few a change untold.
    """
    found: dict[str, Meaning] = {}
    asked: set[str] = set()
    members: set[str] = set()
    classes: list[Meaning] = []
    open_names = list(start.names)
    new = start.members
    while open_names or new:
        for owner in classes:
            open_names += [owner.members[name] for name in new & owner.members.keys()]
        members |= new
        new = frozenset()
        while open_names:
            name = open_names.pop()
            if name in asked:
                continue
            asked.add(name)
            meant = meaning(program, name)
            if meant is None or meant.name in found:
                continue
            found[meant.name] = meant
            open_names += meant.reads.names
            if meant.members:
                classes.append(meant)
                open_names += [meant.members[name] for name in members & meant.members.keys()]
            new |= meant.reads.members - members
    return dict(sorted(found.items()))
