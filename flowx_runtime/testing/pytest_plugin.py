"""The pytest plugin: the `flow_host` fixture, tests on PostgreSQL, and failures that say what the flows did."""

from __future__ import annotations

import functools
import inspect
import tomllib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flowx_runtime.testing.errors import TestSetupError
from flowx_runtime.testing.surroundings import SURROUNDINGS

if TYPE_CHECKING:
    from flowx_runtime.testing.flow_test_host import FlowTestHost

__tracebackhide__ = True  # a failed test shows its own lines

_EMBEDDED = "embedded"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("flowx", "flows")
    group.addoption(
        "--flowx-postgres",
        nargs="?",
        const=_EMBEDDED,
        metavar="DSN",
        help="keep the flows of tests in PostgreSQL: an embedded server, or the one of this DSN",
    )
    group.addoption("--flowx-seed", type=int, metavar="N", help="of every interleaving, run this seed alone")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a path that was taken for a DSN."""
    dsn = config.getoption("--flowx-postgres")
    if dsn is not None and dsn != _EMBEDDED and "=" not in dsn and "://" not in dsn:
        raise pytest.UsageError(
            f"--flowx-postgres takes a DSN, and {dsn!r} is none: write --flowx-postgres=DSN, or put it after the paths"
        )


@pytest.fixture(scope="session", autouse=True)
def flowx_store(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where hosts keep their instances: memory, or what `--flowx-postgres` says, however a test comes by its host."""
    dsn = request.config.getoption("--flowx-postgres")
    if dsn is None:
        yield
        return
    from flowx_runtime.testing.stores import PostgresSchemas

    with _server(dsn) as found:
        schemas = PostgresSchemas(found)
        in_memory, SURROUNDINGS.open_store = SURROUNDINGS.open_store, schemas.open_store
        yield
        SURROUNDINGS.open_store = in_memory
        schemas.drop()


@pytest.fixture(scope="session")
def flow_host() -> Callable[..., Any]:
    """Begins to describe a test host: `flow_host(PLAN).substitute(…).build()`.

    What is not substituted is answered by the application's own capabilities, if `[tool.flowx] capabilities` in the
    pyproject.toml above the test names them. Whatever the test builds is closed behind it, and every substitute must
    have been called.
    """
    from flowx_runtime.testing.builder import flow_host as describe

    return describe


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Give the test its surroundings, and close its hosts in its own event loop."""
    SURROUNDINGS.hosts = []
    SURROUNDINGS.only_seed = item.config.getoption("--flowx-seed")
    SURROUNDINGS.capabilities = functools.partial(_project_capabilities, item.path)
    if isinstance(item, pytest.Function):
        _close_behind(item)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say under a failed test what its flows did."""
    report = yield
    if report.when == "call" and report.failed:
        told = "\n".join(told_of(host) for host in SURROUNDINGS.hosts[-1:] if host.runs)
        if told:
            report.sections.append(("flows", told))
    if report.when == "teardown":
        SURROUNDINGS.hosts = []
    return report


def told_of(host: FlowTestHost) -> str:
    """What ran, what is awaited and what the test expected."""
    lines: list[str] = []
    for run in filter(host.has_begun, host.runs):
        lines.append(str(run))
        lines += [f"  a host was {crash}" for crash in host.crashes]
        lines += [f"  the test expected {asked}" for asked in run.asked]
    lines.append(f"The virtual clock stands at {host.now:%Y-%m-%d %H:%M:%S}.")
    return "\n".join(lines)


def _close_behind(item: pytest.Function) -> None:
    """Have a coroutine test, also one that hypothesis calls again and again, close what it built."""
    inner = getattr(getattr(item.obj, "hypothesis", None), "inner_test", None)
    if inner is not None and inspect.iscoroutinefunction(inner):
        item.obj.hypothesis.inner_test = _closing(inner)
    elif inspect.iscoroutinefunction(item.obj):
        item.obj = _closing(item.obj)


def _closing(test: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(test, "closes_flow_hosts", False):
        return test

    @functools.wraps(test)
    async def closing(*arguments: Any, **named: Any) -> Any:
        before = len(SURROUNDINGS.hosts)
        try:
            result = await test(*arguments, **named)
        finally:
            built = SURROUNDINGS.hosts[before:]
            for host in built:
                await host.close()
        unused = [each for host in built if (each := host.unused()) is not None]
        if unused:
            pytest.fail(unused[0], pytrace=False)
        return result

    closing.closes_flow_hosts = True  # type: ignore[attr-defined]
    return closing


def _server(dsn: str) -> AbstractContextManager[str]:
    return nullcontext(dsn) if dsn != _EMBEDDED else _embedded()


@contextmanager
def _embedded() -> Iterator[str]:
    from flowx_runtime.journal.postgres.embedded import EmbeddedServer

    # Nothing here outlives the tests, so nothing has to reach the disk.
    settings = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}
    with EmbeddedServer(settings=settings) as server:
        yield server.dsn


def _project_capabilities(test: Path) -> Iterable[Any]:
    """What `[tool.flowx] capabilities` names in the nearest pyproject.toml that has such a table."""
    for folder in test.parents:
        file = folder / "pyproject.toml"
        table = tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("flowx") if file.exists() else None
        if table is not None:
            named = table.get("capabilities")
            return () if named is None else _factory(named)()
    return ()


def _factory(named: str) -> Callable[[], Iterable[Any]]:
    module, _, name = named.partition(":")
    try:
        found: Callable[[], Iterable[Any]] = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise TestSetupError(
            f"[tool.flowx] capabilities names {named!r}, which cannot be had ({error}): "
            'put the project on pytest\'s path with pythonpath = ["."]'
        ) from error
    return found
