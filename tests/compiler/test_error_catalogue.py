"""Error catalogues are complete or absent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowx_compiler.check.error_catalogue import error_catalogue
from flowx_compiler.model import Program

HEAD = """\
import json
from flowx_runtime import Category, Contract, FlowError, Internal, StepContext, capability

class Request(Contract):
    name: str

class Gone(FlowError, code="x.gone", category=Category.NOT_FOUND):
    "Gone."

class Busy(FlowError, code="x.busy", category=Category.CONFLICT):
    "Busy."

def refuse(name: str) -> None:
    if name:
        raise Busy(name)

class Client:
    def call(self, name: str) -> str:
        refuse(name)
        return json.dumps(name)

class Other:
    def send(self) -> None:
        raise Gone()

class Third:
    def send(self) -> None:
        raise Busy()
"""
CAPABILITY = '@capability("a.b", version="1.0.0", authorization=Internal(){extra})\n'
BODIES = {
    "nothing": ("return None", ()),
    "a raise": ("raise Gone()", ("Gone",)),
    "a raise of the class": ("raise Gone", ("Gone",)),
    "both, one through a helper": ("refuse(request.name)\n    raise Gone()", ("Busy", "Gone")),
    "through the one method of that name": ("Client().call(request.name)", ("Busy",)),
    "a built-in error is a defect": ("raise ValueError(1)", ()),
    "a bare raise counts what was raised": ("try:\n        refuse('')\n    except Busy:\n        raise", ("Busy",)),
    "a library raises none of ours": ("json.loads('')", ()),
    "a variable could be anything": ("error = Gone()\n    raise error", None),
    "two methods of that name": ("request.sender.send()", None),
}


@pytest.mark.parametrize("case", BODIES)
def test_a_catalogue_is_complete_or_absent(case: str, linked: Callable[..., Program]) -> None:
    body, expected = BODIES[case]
    source = HEAD + CAPABILITY.format(extra="")
    source += f"async def act(request: Request, ctx: StepContext) -> None:\n    {body}\n"
    program = linked(app=source)
    found = error_catalogue(program, program.capabilities["app.act"])
    assert found == (None if expected is None else tuple(f"app.{name}" for name in expected))


def test_a_declared_catalogue_is_taken_as_it_is(linked: Callable[..., Program]) -> None:
    source = HEAD + CAPABILITY.format(extra=", errors=(Gone,)")
    source += "async def act(request: Request, ctx: StepContext) -> None:\n    raise Busy()\n"
    program = linked(app=source)
    assert error_catalogue(program, program.capabilities["app.act"]) == ("app.Gone",)
