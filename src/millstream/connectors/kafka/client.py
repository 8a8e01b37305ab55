"""How a cluster is reached: settings of librdkafka. Secrets are read where they are used."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from millstream.connectors.kafka.settings import OWN, PREFIX
from millstream.connectors.paths import resolve
from millstream.errors import RunError
from millstream.temporal import parse_span

_PLAIN = ("security.protocol", "sasl.mechanism", "sasl.username")
_FILES = ("ssl.ca.location",)
_COMMON = {
    "log_level": 0,  # errors come through callbacks
    "reconnect.backoff.max.ms": 1000,
    "topic.metadata.refresh.interval.ms": 10_000,
}


class Owner(Protocol):
    """A source or a sink."""

    @property
    def name(self) -> str: ...
    @property
    def options(self) -> tuple[tuple[str, str], ...]: ...
    def option(self, name: str, default: str = "") -> str: ...


@dataclass(frozen=True, slots=True)
class Client:
    """Settings without secrets; picklable.

    Attributes:
        owner: "source orders", for errors.
        settings: Those of librdkafka that the job names.
        password: The environment variable with the password; empty: none.
        file: A file of further settings; empty: none.
        connect: Seconds that the start of a job waits for brokers.
        retry: Seconds that a running job waits for them.
    """

    owner: str
    settings: tuple[tuple[str, str], ...]
    password: str = ""
    file: str = ""
    connect: float = 30.0
    retry: float = 600.0

    @classmethod
    def of(cls, what: str, owner: Owner, base: Path) -> Self:
        given = {"bootstrap.servers": owner.option("bootstrap.servers")}
        given |= {name: owner.option(name) for name in _PLAIN if owner.option(name)}
        given |= {name: resolve(owner.option(name), base) for name in _FILES if owner.option(name)}
        given |= {
            name.removeprefix(PREFIX): value
            for name, value in owner.options
            if name.startswith(PREFIX)
        }
        file = owner.option("config.file")
        return cls(
            f"{what} {owner.name}",
            tuple(given.items()),
            owner.option("sasl.password.env"),
            resolve(file, base) if file else "",
            parse_span(owner.option("connect.timeout", "30s")) / 1e6,
            parse_span(owner.option("retry.timeout", "10m")) / 1e6,
        )

    @property
    def address(self) -> str:
        return dict(self.settings)["bootstrap.servers"]

    def config(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Returns all settings, with secrets. `own` are defaults of the caller."""
        found = {**_COMMON, **own, **dict(self.settings)}
        if self.file:
            found |= self.read_file()
        if self.password:
            secret = os.environ.get(self.password)
            if secret is None:
                raise RunError(
                    "MS-RUN-KAFKA-LOGIN",
                    f"{self.owner}: the environment variable {self.password}, which 'sasl."
                    "password.env' names, is not set.",
                    fix="Set it for the driver and the executors.",
                )
            found["sasl.password"] = secret
        return found

    def place_of(self, name: str) -> str:
        """Returns where a setting of librdkafka is given, for errors."""
        if self.is_in_file(name):
            return f"{name} in {self.file}"
        is_property = name in (*_PLAIN, *_FILES, "bootstrap.servers")
        return f"'{name}'" if is_property else f"'{PREFIX}{name}'"

    def is_in_file(self, name: str) -> bool:
        return bool(self.file) and name in self.read_file()

    def read_file(self) -> dict[str, str]:
        """Returns the settings of 'config.file', with secrets."""
        try:
            text = Path(self.file).read_text(encoding="utf-8")
        except OSError as error:
            raise RunError(
                "MS-RUN-KAFKA-LOGIN",
                f"{self.owner}: {self.file}, which 'config.file' names, cannot be read: "
                f"{error.strerror}.",
                fix="Put it on the driver and the executors.",
            ) from None
        except UnicodeDecodeError:
            raise self._file_error("is not UTF-8", "Save it as UTF-8.") from None
        found = dict(self._pairs(text.splitlines()))
        for name in OWN:
            if name in found:
                raise self._file_error(
                    f"sets {name}, which is set by Millstream, because its guarantees depend on it",
                    "Remove the line.",
                )
        return found

    def _pairs(self, lines: Iterable[str]) -> Iterable[tuple[str, str]]:
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            name, equals, value = line.partition("=")
            if not equals or not name.strip():  # the line may be a secret, so it is not shown
                raise self._file_error(
                    f"has no name=value in line {number}",
                    "Write a setting of librdkafka in each line, and # before a comment.",
                )
            yield name.strip(), value.strip()

    def _file_error(self, what: str, fix: str) -> RunError:
        return RunError(
            "MS-RUN-KAFKA-SETTING",
            f"{self.owner}: {self.file}, which 'config.file' names, {what}.",
            fix=fix,
        )


@dataclass(slots=True)
class WaitNotice:
    """Prints once, to Spark's log, that a source or sink waits for brokers or a registry."""

    owner: str
    address: str
    seconds: float
    setting: str = "retry.timeout"
    _is_printed: bool = False

    @classmethod
    def of(cls, client: Client, seconds: float) -> Self:
        is_start = seconds == client.connect != client.retry
        setting = "connect.timeout" if is_start else "retry.timeout"
        return cls(client.owner, client.address, seconds, setting)

    def show(self) -> None:
        if not self._is_printed:
            self._is_printed = True
            text = f"{self.owner}: {self.address} does not answer; waiting up to {self.seconds:g}s"
            print(f"{text} ('{self.setting}').", file=sys.stderr)  # noqa: T201
