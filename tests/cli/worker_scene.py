"""A copy of the offers example on a database of its own, and workers on it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

ROOT = Path(__file__).parents[2]
OFFER = '{"candidate_id": "c-1", "role": "engineer", "site": "london"}'
PATIENCE = 30.0


class Site:
    """A project, its database, and the verbs in it."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self.folder = folder
        self.dsn = dsn
        self.environment = os.environ | {"PYTHONPATH": str(ROOT), "FLOWX_DSN": dsn, "NO_COLOR": "1"}

    def flowx(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "flowx_cli", *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def name(self) -> str:
        """The database's own."""
        return str(conninfo_to_dict(self.dsn)["dbname"])

    def rows(self, query: str, *parameters: Any) -> list[Any]:
        with psycopg.connect(self.dsn, autocommit=True, options="-c search_path=flowx") as connection:
            cursor = connection.execute(query.encode(), parameters)
            return cursor.fetchall() if cursor.description is not None else []

    def comes(self, what: Callable[[], Any]) -> None:
        until = time.monotonic() + PATIENCE
        while not what():
            assert time.monotonic() < until, "it did not come"
            time.sleep(0.02)

    @contextmanager
    def worker(self, *arguments: str) -> Iterator[Worker]:
        log = self.folder / "worker.log"
        with log.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "flowx_cli", "worker", "--health-port", "0", "--log-format", "json", *arguments],
                cwd=self.folder,
                env=self.environment,
                stderr=file,
            )
        worker = Worker(process, log)
        try:
            self.comes(worker.is_up)
            yield worker
        finally:
            process.kill()
            process.wait()


class Worker:
    """`flowx worker` in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines() if line.endswith("}")]

    @property
    def messages(self) -> list[str]:
        return [record["message"] for record in self.log]

    @property
    def says(self) -> str:
        """The line that says what it runs."""
        (line,) = [record["message"] for record in self.log if record["logger"] == "flowx.worker"][:1]
        return str(line)

    def is_up(self) -> bool:
        assert self.process.poll() is None, self._log.read_text()
        return any(record["logger"] == "flowx.worker" for record in self.log)

    def get(self, path: str, method: str = "GET", port: int | None = None) -> tuple[int, str]:
        port = port or int(self.says.rpartition(" ")[2])
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def post(self, path: str, body: bytes, port: int) -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def make_site(folder: Path, dsn: str) -> Site:
    site = Site(shutil.copytree(ROOT / "examples" / "offers", folder / "offers"), dsn)
    built = site.flowx("build")
    assert built.returncode == 0, built.stderr
    return site
