"""Generated requests against our own description: no failure of ours, and no status that is not described."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from flowx_runtime import MemoryJournal
from tests.http.conftest import serving

REQUESTS = 2000
TOKENS = ("people-ops-token", "recruiter-token", "made-up")


@contextmanager
def served(name: str) -> Iterator[str]:
    """An application on a loop of its own, for a client that has none."""
    ready, done = threading.Event(), []
    base: list[str] = []

    async def serve() -> None:
        done.append((asyncio.get_running_loop(), asyncio.Event()))
        async with serving(MemoryJournal(), name) as app:
            base.append(app.base)
            ready.set()
            await done[0][1].wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(20)
    yield base[0]
    loop, stop = done[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(20)


@pytest.mark.slow  # thousands of requests
def test_2000_generated_requests_find_no_failure_and_no_status_that_is_not_described() -> None:
    answers: Counter[int] = Counter()
    for name in ("offers", "workflow"):
        with served(name) as base:
            described = schemathesis.openapi.from_url(f"{base}/openapi.json")
            operations = [found.ok() for found in described.get_all_operations()]
            share = REQUESTS // 2 // len(operations) + 1
            for operation in operations:
                _hold(operation, base, share, answers)
    assert answers.total() >= REQUESTS
    assert {200, 202, 400, 401, 404} <= answers.keys(), answers


def _hold(operation: Any, base: str, count: int, answers: Counter[int]) -> None:
    @settings(
        max_examples=count,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(case=_cases(operation), token=st.sampled_from(TOKENS))
    def hold(case: Any, token: str) -> None:
        response = case.call(base_url=base, headers={"Authorization": f"Bearer {token}"})
        answers[response.status_code] += 1
        case.validate_response(
            response,
            checks=(
                not_a_server_error,
                status_code_conformance,
                content_type_conformance,
                response_schema_conformance,
            ),
        )

    hold()


def _cases(operation: Any) -> Any:
    """Requests as described, and as they are not."""
    return st.one_of(
        operation.as_strategy(), operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)
    )


def test_the_description_is_what_openapi_says_one_is() -> None:
    with served("workflow") as base:
        described = schemathesis.openapi.from_url(f"{base}/openapi.json")
        document = json.loads(json.dumps(described.raw_schema))
        described.validate()
    assert document["openapi"] == "3.1.0"
    assert "/api/v1/onboarding" in document["paths"]
    assert "sensitive" not in json.dumps(document["components"]["schemas"])
