"""The process between a program and its throw-away PostgreSQL server: started by path, standard library only.

The program holds the other end of this process's standard input. However the program ends, by a return,
an exception, SIGTERM or SIGKILL, that end closes, and the server is stopped and its folders are removed.

Arguments: one JSON document, `{"command": [...], "user": int | null, "data": path, "remove": [path, ...]}`.
Output: the line `ready`, or the end of the server's log when it did not come up.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TypedDict

_POLL_SECONDS = 0.01
_STOP_SECONDS = 10


class _Order(TypedDict):
    command: list[str]
    user: "int | None"
    data: str
    remove: list[str]


def _is_ready(server: "subprocess.Popen[bytes]", pid_file: Path) -> bool:
    # First line its process id, eighth its status. A file that another server left behind names another process.
    try:
        lines = pid_file.read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[0] == str(server.pid) and lines[7].strip() == "ready"


def _announce(server: "subprocess.Popen[bytes]", data: Path, log: Path) -> None:
    while server.poll() is None and not _is_ready(server, data / "postmaster.pid"):
        time.sleep(_POLL_SECONDS)
    report = b"ready\n" if server.poll() is None else log.read_bytes()[-2000:]
    with contextlib.suppress(OSError):
        sys.stdout.buffer.write(report)
        sys.stdout.buffer.flush()


def _stop(server: "subprocess.Popen[bytes]") -> None:
    for demand in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):  # fast, immediate, none of the server's business
        if server.poll() is None:
            server.send_signal(demand)
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(_STOP_SECONDS)


def _keep(order: _Order) -> None:
    data = Path(order["data"])
    log = data / "server.log"
    with log.open("ab") as file:
        server = subprocess.Popen(
            order["command"], user=order["user"], stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=data
        )
    try:
        _announce(server, data, log)
        # A server that dies by itself ends this process too; the reader of standard input is left behind.
        closed = threading.Event()

        def watch() -> None:
            os.read(0, 1)
            closed.set()

        threading.Thread(target=watch, daemon=True).start()
        while server.poll() is None and not closed.wait(0.2):
            pass
    finally:
        _stop(server)
        for folder in order["remove"]:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    for harmless in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(harmless, signal.SIG_IGN)
    _keep(json.loads(sys.argv[1]))
