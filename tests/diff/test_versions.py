"""The order of versions, here and in the runtime."""

from __future__ import annotations

import itertools

from flowx_compiler.diff.versions import precedence

FROM_OLDEST = (
    "",
    "x",
    "0.1.0",
    "0.2.0",
    "0.10.0",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0",
    "1.0.0+build",
    "1.0.1",
    "2.0.0",
)


def test_versions_are_ordered_by_number_and_a_pre_release_is_older() -> None:
    for older, newer in itertools.pairwise(FROM_OLDEST):
        assert precedence(older) <= precedence(newer), (older, newer)
    newest_first = FROM_OLDEST[:1:-1]
    assert sorted(newest_first, key=precedence) == list(FROM_OLDEST[2:])


def test_the_runtime_orders_them_alike() -> None:
    from flowx_runtime.plan.versions import precedence as of_the_runtime

    assert [of_the_runtime(version) for version in FROM_OLDEST] == [precedence(version) for version in FROM_OLDEST]
