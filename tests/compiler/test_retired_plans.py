"""A plan that is retired goes on meaning what it did, or the build says that it would not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from flowx_compiler.build import Build, compile_sources
from flowx_compiler.config import Config
from flowx_compiler.link.sources import SourceFile
from tests.compiler.reached_project import PROJECT

CONFIG = Config(root=Path(), sources=("app",), plans="app.plans", application="app")
PLAN = "app_main_v1_0_0"
FILE = f"app/plans/{PLAN}.py"
NEW = ("app.flows", '"app.main", version="1.0.0"', '"app.main", version="1.1.0"')


def project(*edits: tuple[str, str, str]) -> dict[str, str]:
    """The project under its next version, with edits."""
    found = dict(PROJECT)
    for module, old, new in (NEW, *edits):
        assert old in found[module], f"{old!r} is not in {module}"
        found[module] = found[module].replace(old, new)
    return found


def build(sources: Mapping[str, str], existing: Mapping[str, str] | None = None) -> Build:
    files = [SourceFile(name, f"{name.replace('.', '/')}.py", text.encode()) for name, text in sources.items()]
    return compile_sources(files, CONFIG, existing or {})


@pytest.fixture(scope="module")
def retired() -> dict[str, str]:
    """The plan of 1.0.0, as it was built."""
    return {PLAN: build(PROJECT).files[FILE]}


def told(built: Build) -> list[str]:
    assert all(finding.id == "FLOWX1304" for finding in built.findings)
    assert all(finding.place.file == FILE for finding in built.findings)
    return [finding.message.removeprefix("app.main@1.0.0 is retired and ") for finding in built.findings]


def test_a_new_version_beside_the_old_names_is_fine(retired: dict[str, str]) -> None:
    built = build(project(("app.flows", "ctx.input.cents > LIMIT", "ctx.input.cents > 200")), retired)
    assert built.findings == ()
    assert FILE in built.files


MOVED = "does not mean any more what it did"
GONE = "is not there any more"


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([("app.consts", "LIMIT: Final = 100", "LIMIT: Final = 200")], f"reads `app.consts.LIMIT`, which {MOVED}"),
        ([("app.consts", "DEAR = 500", "DEAR = 5")], f"reads `app.consts.Lim.DEAR`, which {MOVED}"),
        ([("app.consts", "edge = 1000", "edge = 1")], f"reads `app.consts.is_big`, which {MOVED}"),
        ([("app.consts", "days=2", "days=3")], f"reads `app.consts.WINDOW`, which {MOVED}"),
        ([("app.flows", "return helper(", "return not helper(")], f"reads `app.flows.named`, which {MOVED}"),
        ([("app.flows", "return n > 5", "return n > 6")], f"reads `app.flows.helper`, which {MOVED}"),
        ([("app.model", "self.cents > 700", "self.cents > 7")], f"reads `app.model.Order.is_dear`, which {MOVED}"),
        ([("app.caps", "attempts=3", "attempts=4")], f"reads `app.caps.POL`, which {MOVED}"),
        (
            [
                ("app.model", "def total(", "def sum_of_all("),
                ("app.flows", "ctx.input.total()", "ctx.input.sum_of_all()"),
            ],
            f"reads `app.model.Order.total`, which {GONE}",
        ),
        (
            [("app.consts", "ORDERED", "PREFERRED"), ("app.flows", "ORDERED", "PREFERRED")],
            f"imports `app.consts.ORDERED`, which {GONE}",
        ),
        (
            [("app.model", "Bad", "Worse"), ("app.flows", "Bad", "Worse")],
            f"imports `app.model.Bad`, which {GONE}",
        ),
        (
            [("app.caps", "def note(", "def remark("), ("app.flows", "note", "remark")],
            f"imports `app.caps.note`, which {GONE}",
        ),
    ],
)  # fmt: skip
def test_what_it_reads_has_to_stay_what_it_was(
    edits: list[tuple[str, str, str]], message: str, retired: dict[str, str]
) -> None:
    built = build(project(*edits), retired)
    assert told(built) == [message]
    assert built.files == {}


@pytest.mark.parametrize(
    "edit",
    [
        ("app.model", '    country: str = "DE"\n', '    country: str = "DE"\n    more: str = ""\n'),
        ("app.model", 'BLUE = "blue"', 'BLUE = "blue"\n    GREEN = "green"'),
        ("app.consts", "OTHER: Final = 7", "OTHER: Final = 8"),
        ("app.consts", "return n > edge", "# Over it.\n    return n > edge"),
        ("app.caps", "ref=request.mode", "ref=request.number"),
    ],
)
def test_a_program_may_grow_beside_it(edit: tuple[str, str, str], retired: dict[str, str]) -> None:
    assert told(build(project(edit), retired)) == []


CHANGED = ("app.consts", "LIMIT: Final = 100", "LIMIT: Final = 200")


def test_the_finding_is_on_the_line_of_what_is_read_and_says_what_to_do(retired: dict[str, str]) -> None:
    (finding,) = build(project(CHANGED), retired).findings
    assert '("app.consts.LIMIT", ' in retired[PLAN].splitlines()[finding.place.span.line - 1]
    assert finding.help.startswith("let `LIMIT` be what it was and give what is new a name of its own")
    assert "`flowx build --prune app.main@1.0.0`" in finding.help
    assert finding.related[0].place.file == "app/consts.py"


def test_a_comment_with_a_reason_in_the_plan_suppresses_it_and_stays(retired: dict[str, str]) -> None:
    lines = retired[PLAN].splitlines(keepends=True)
    number = next(number for number, line in enumerate(lines) if '("app.consts.LIMIT", ' in line)
    lines[number] = lines[number].rstrip("\n") + "  # flowx: ignore[FLOWX1304] none was ever over 100\n"
    built = build(project(CHANGED), {PLAN: "".join(lines)})
    assert built.findings == ()
    assert [item.finding.id for item in built.verdict.suppressed] == ["FLOWX1304"]
    assert "none was ever over 100" in built.files[FILE]


def test_a_plan_that_says_nothing_of_what_it_reads_is_held_to_its_imports(retired: dict[str, str]) -> None:
    former = {PLAN: retired[PLAN].partition("READS: Final")[0]}
    assert told(build(project(CHANGED), former)) == []
    renamed = [("app.consts", "ORDERED", "PREFERRED"), ("app.flows", "ORDERED", "PREFERRED")]
    assert told(build(project(*renamed), former)) == ["imports `app.consts.ORDERED`, which is not there any more"]


def test_a_draft_is_held_to_nothing(retired: dict[str, str]) -> None:
    draft = {"app_main_v1_0_0_dev_1": retired[PLAN].replace("app.main 1.0.0", "app.main 1.0.0-dev.1")}
    assert told(build(project(CHANGED), draft)) == []
