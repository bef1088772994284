"""What a dsn says: nothing is waited for where waiting cannot help, and every error names the place and no secret."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from flowx_runtime.journal.contract import JournalUnavailable
from flowx_runtime.journal.postgres.connecting import ConnectionRefused, DsnInvalid
from flowx_runtime.journal.postgres.journal import PostgresJournal

LONG = timedelta(hours=1)
"""A test that waited for it would not end."""


@pytest.mark.parametrize(
    "dsn", ["junk", "postgresql://u:secret@h:port/db", "host=h prot=5432", "postgresql://[::1", "host=a\x00b", "\ud800"]
)
async def test_what_is_no_dsn_is_refused_at_once_without_repeating_it(dsn: str) -> None:
    with pytest.raises(DsnInvalid, match=r"write one such as postgresql://user@host:5432/database") as refused:
        await PostgresJournal.open(dsn, patience=LONG)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"dbname": "nowhere"}, 'database "nowhere" does not exist'), ({"user": "nobody-here"}, 'role "nobody-here"')],
)
async def test_who_is_not_let_in_is_told_at_once(postgres_dsn: str, changes: dict[str, str], words: str) -> None:
    dsn = psycopg.conninfo.make_conninfo(postgres_dsn, **changes)
    with pytest.raises(ConnectionRefused, match=words) as refused:
        await PostgresJournal.open(dsn, patience=LONG)
    assert "\n" not in str(refused.value)


async def test_an_option_that_the_client_does_not_know_is_told_at_once() -> None:
    with pytest.raises(ConnectionRefused, match="invalid sslmode value"):
        await PostgresJournal.open("host=127.0.0.1 sslmode=maybe", patience=LONG)


async def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    with pytest.raises(JournalUnavailable, match=r"at 127\.0\.0\.1:1 cannot be reached .*: Connection refused") as away:
        await PostgresJournal.open("postgresql://u:secret@127.0.0.1:1/db", patience=timedelta(0))
    assert "secret" not in str(away.value)
