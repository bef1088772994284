"""Serves a worker's flows over HTTP for as long as it works."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from flowx_cli.project import ProjectNotRunnable, load_authenticator
from flowx_compiler.config import Config
from flowx_compiler.errors import UsageProblem
from flowx_runtime import FlowHost


@asynccontextmanager
async def serving(host: FlowHost, config: Config, port: int | None) -> AsyncIterator[int | None]:
    """Serve the routes of the project's flows; gives the port.

    Args:
        host: runs the flows; it has to be entered for as long as this is.
        config: names the manifest, and who says who sends a request.
        port: where to listen on every interface; 0 takes a free one of the local interface, `None` serves nothing.

    Raises:
        UsageProblem: what serving needs is not installed, or somebody else listens there.
    """
    if port is None:
        yield None
        return
    try:
        import uvicorn

        from flowx_runtime.http import create_app
    except ImportError as missing:
        raise UsageProblem(f"--http needs {missing.name}: install the extra `http`") from missing

    class Server(uvicorn.Server):
        """Leaves the process's signals to the worker, which drains its host first."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    authenticate = load_authenticator(config)
    options: dict[str, Any] = {} if authenticate is None else {"authenticate": authenticate}
    app = create_app(host, manifest=_manifest(config), **options)
    server = Server(
        uvicorn.Config(
            app, host="0.0.0.0" if port else "127.0.0.1", port=port, lifespan="off", log_config=None, access_log=False
        )
    )
    serves = asyncio.ensure_future(_serve(server.serve()))
    while not server.started:
        if serves.done():
            # uvicorn has logged why, and ends the process where it is not stopped.
            raise UsageProblem(f"port {port} cannot be listened on: somebody else has it, or this user may not")
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serves


async def _serve(serving: Coroutine[Any, Any, None]) -> None:
    with suppress(SystemExit):
        await serving


def _manifest(config: Config) -> Any:
    path = config.root / config.manifest
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ProjectNotRunnable(f"{config.manifest} cannot be read: run `flowx build` first") from error
