"""The pytest plugin, as a project meets it: in a process and a folder of its own."""

from __future__ import annotations

from pathlib import Path

from tests.docs.test_testing_page import run_pytest

TESTS = """
import pytest
from flowx_runtime.testing import SETUP
from tests.testing.flows import ORDER, SLOW, TWO_BRANCHES, Seen


async def test_unused(flow_host):
    host = flow_host(SLOW).substitute("test.refund", None).build()
    await host.start(ORDER)
    await host.advance_until_done()


async def test_where_it_stands(flow_host):
    host = flow_host(SLOW).build()
    run = await host.start(ORDER)
    await host.advance_until_done(limit="PT1M")


@pytest.fixture
def started(flow_host):
    return flow_host(SLOW)


async def test_on_a_store(started):
    host = started.build()
    run = await host.start(ORDER)
    print("kept in", type(host._driver.store).__name__)
    await host.advance_until_done()
    assert run.completed_with()


async def test_seeds(flow_host):
    from flowx_runtime.testing import interleave

    async def to_the_end(host):
        await host.start(ORDER)
        await host.advance_until_done()

    print("seeds", list(await interleave(TWO_BRANCHES, to_the_end, seeds=3)))
""".replace("from flowx_runtime.testing import SETUP\n", "")


def project(folder: Path, tests: str = TESTS) -> Path:
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    (folder / "test_flows.py").write_text(tests, "utf-8")
    return folder


def test_p51_a_project_s_tests_need_no_server_and_a_failure_says_what_ran(tmp_path: Path) -> None:
    ran = run_pytest(project(tmp_path), "-rP")
    assert "2 failed, 2 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "nothing called 'test.refund': remove the substitute, or mark it optional=True" in ran.stdout
    assert "Nothing ended within 0:01:00." in ran.stdout
    assert "test.flow is Suspended, awaiting rest until 2030-01-01 10:00:00" in ran.stdout
    assert "kept in MemoryStore" in ran.stdout
    assert "seeds [0, 1, 2]" in ran.stdout
    for name in ("test_unused", "test_where_it_stands"):
        explained = ran.stdout.partition(f"_ {name} _")[2].split("\n_____", 1)[0].split("\n=====", 1)[0]
        assert len(explained.splitlines()) < 30, explained


def test_the_same_tests_run_on_postgres_and_one_seed_runs_alone(tmp_path: Path, postgres_dsn: str) -> None:
    arguments = ["-rP", f"--flowx-postgres={postgres_dsn}", "--flowx-seed=2", "-k", "store or seeds"]
    ran = run_pytest(project(tmp_path), *arguments)
    assert "2 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "kept in PostgresStore" in ran.stdout
    assert "seeds [2]" in ran.stdout
    import psycopg

    with psycopg.connect(postgres_dsn) as connection:
        left = connection.execute("select count(*) from pg_namespace where nspname like 'flowx_test_%'").fetchone()
    assert left == (0,), "its schemas are dropped"


def test_a_path_that_is_taken_for_a_dsn_is_refused(tmp_path: Path) -> None:
    ran = run_pytest(project(tmp_path), "--flowx-postgres", "test_flows.py")
    assert "'test_flows.py' is none: write --flowx-postgres=DSN, or put it after the paths" in ran.stderr


def test_settings_that_name_no_application_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.flowx]\ncapabilities = "nowhere.app:capabilities"\n', "utf-8")
    ran = run_pytest(project(tmp_path), "-k", "store")
    assert "[tool.flowx] capabilities names 'nowhere.app:capabilities', which cannot be had" in ran.stdout
    assert 'pythonpath = ["."]' in ran.stdout


def test_a_project_without_flows_pays_next_to_nothing_for_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n\n\ndef test_other():\n"
        "    heavy = ('pydantic', 'psycopg', 'flowx_runtime.engine', 'flowx_runtime.testing.strategies')\n"
        "    assert [name for name in heavy if name in sys.modules] == []\n",
        "utf-8",
    )
    ran = run_pytest(tmp_path)
    assert "1 passed" in ran.stdout, ran.stdout
