"""A project to begin with: one flow, its capabilities, one test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from keyword import iskeyword
from pathlib import Path
from typing import Final

from flowx_cli.writing import write_text
from flowx_compiler.errors import UsageProblem

_PACKAGE: Final = "PACKAGE"
"""Stands for the package's name in the files below."""

_FILES: Final[Mapping[str, str]] = {
    "pyproject.toml": """\
[project]
name = "PACKAGE"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["flowx-durable[embedded]"]

[project.optional-dependencies]
test = ["flowx-durable[testing]"]

[tool.flowx]
application = "PACKAGE"
sources = ["PACKAGE"]
plans = "PACKAGE.plans"

[tool.pytest.ini_options]
pythonpath = ["."]
asyncio_mode = "auto"
asyncio_default_fixture_loop_scope = "function"
""",
    ".gitignore": """\
__pycache__/
.flowx/
.flowx_cache/
.venv/
""",
    "PACKAGE/__init__.py": '''\
"""An application of durable flows."""
''',
    "PACKAGE/contracts.py": '''\
"""The values that cross steps, and what can go wrong."""

from __future__ import annotations

from flowx_runtime import Category, Contract, FlowError, signal


class Booking(Contract):
    """What the flow is given."""

    guest: str
    nights: int


class Room(Contract):
    """A room that is held for the guest."""

    number: str


class Stay(Contract):
    """What the flow gives."""

    guest: str
    room: str


@signal("booking.confirmed")
class Confirmed(Contract):
    """Somebody says yes."""

    by: str


class NotConfirmed(
    FlowError, code="booking.not_confirmed", category=Category.UNAVAILABLE
):
    """Nobody confirmed the booking in time."""
''',
    "PACKAGE/capabilities.py": '''\
"""What the flow can do."""

from __future__ import annotations

from flowx_runtime import Internal, StepContext, capability

from PACKAGE.contracts import Booking, Room


@capability(
    "room.hold", version="1.0.0", authorization=Internal(), side_effects=("rooms",)
)
async def hold_room(request: Booking, ctx: StepContext) -> Room:
    ctx.log.info("holding a room", nights=request.nights)
    return Room(number="12")


@capability(
    "room.release",
    version="1.0.0",
    authorization=Internal(),
    idempotent=True,
    side_effects=("rooms",),
)
async def release_room(request: Room, ctx: StepContext) -> None:
    ctx.log.info("releasing a room", number=request.number)
''',
    "PACKAGE/flows.py": '''\
"""Booking a room: it is held until somebody confirms, for a day at most."""

from __future__ import annotations

from flowx_runtime import Flow, FlowBuilder, Profile, flow

from PACKAGE.capabilities import hold_room, release_room
from PACKAGE.contracts import Booking, Confirmed, NotConfirmed, Room, Stay


@flow("room.book", version="1.0.0", profile=Profile.DURABLE, deadline="P2D")
class BookRoom(Flow[Booking, Stay]):
    """Holds a room and waits for a person."""

    def define(self, flow: FlowBuilder[Booking, Stay]) -> None:
        flow.step(hold_room).compensate_with(release_room)
        flow.await_signal(Confirmed, timeout="P1D").on_timeout(
            lambda late: late.fail(NotConfirmed)
        )
        flow.returns(lambda ctx: Stay(guest=ctx.input.guest, room=ctx.get(Room).number))
''',
    "tests/test_booking.py": '''\
"""Both ways a booking can go; no database, and no waiting."""

from __future__ import annotations

from PACKAGE.contracts import Booking, Confirmed
from PACKAGE.plans import room_book_v1_0_0 as room_book

BOOKING = Booking(guest="Ada", nights=2)


async def test_a_confirmed_booking_is_a_stay(flow_host):
    host = flow_host(room_book.PLAN).build()
    run = await host.start(BOOKING)
    await run.signal(Confirmed(by="Grace"))
    assert run.completed_with(guest="Ada", room="12")


async def test_a_booking_that_nobody_confirms_gives_the_room_back(flow_host):
    host = flow_host(room_book.PLAN).build()
    run = await host.start(BOOKING)
    await host.advance_until_done()
    assert run.failed_with("booking.not_confirmed")
    assert run.trace.compensated == ["room.release"]
''',
}


def begin_project(folder: Path) -> tuple[str, ...]:
    """Write the files of a new project, named after its folder; gives their paths.

    Raises:
        UsageProblem: one of them is there already, and none was written.
    """
    package = package_name(folder.resolve().name)
    files = {path.replace(_PACKAGE, package): text.replace(_PACKAGE, package) for path, text in _FILES.items()}
    there = [path for path in files if (folder / path).exists()]
    if there:
        raise UsageProblem(f"{folder / there[0]} is there already, and nothing is overwritten: name a new folder")
    for path, text in files.items():
        write_text(folder / path, text)
    return tuple(files)


def package_name(name: str) -> str:
    """A folder's name as one that can be imported."""
    found = re.sub(r"\W+", "_", name.lower(), flags=re.ASCII).strip("_")
    return found if found.isidentifier() and not iskeyword(found) and found not in ("tests", "flow") else f"app_{found}"
