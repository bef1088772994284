"""The id of an occurrence is a frozen format: these are its bytes."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from flowx_runtime.scheduler.cron.identity import jitter_of, occurrence_id
from tests.scheduler.cron_scene import utc

KNOWN = UUID("c49bd6f1-9174-8d06-9db3-a800dee1b260")


def test_the_id_of_an_occurrence_is_the_one_it_has_always_been() -> None:
    made = occurrence_id("offer.window.close", "1.0.0", "* * * * *", "UTC", utc("2026-08-01T16:24:00"))
    assert made == KNOWN
    assert (made.version, made.variant) == (8, "specified in RFC 4122")


def test_the_zone_an_instant_is_written_in_does_not_change_the_id() -> None:
    local = datetime.fromisoformat("2026-08-01T18:24:00+02:00")
    assert occurrence_id("offer.window.close", "1.0.0", "* * * * *", "UTC", local) == KNOWN


def test_every_term_changes_the_id() -> None:
    terms = ("offer.window.close", "1.0.0", "* * * * *", "UTC")
    at = utc("2026-08-01T16:24:00")
    others = {occurrence_id(*terms[:n], terms[n] + "x", *terms[n + 1 :], at) for n in range(4)}
    assert len(others | {KNOWN, occurrence_id(*terms, at + timedelta(minutes=1))}) == 6


def test_the_jitter_of_an_occurrence_is_always_the_same_and_within_its_window() -> None:
    assert jitter_of(KNOWN, None) == timedelta(0)
    # The first 53 bits of c49bd6f1-9174-8d06 as a part of 2**53: 0.768003 of an hour.
    assert jitter_of(KNOWN, timedelta(hours=1)) == timedelta(seconds=2764, microseconds=810526)
    assert jitter_of(UUID(int=2**128 - 1), timedelta(hours=1)) <= timedelta(hours=1)
    spread = [
        jitter_of(occurrence_id("a", "1", "c", "UTC", utc("2026-01-01") + timedelta(days=n)), timedelta(days=1))
        for n in range(400)
    ]
    assert 80 < sum(delay < timedelta(hours=6) for delay in spread) < 120
