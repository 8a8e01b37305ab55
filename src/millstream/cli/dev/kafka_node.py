"""A Kafka node on loopback: broker and controller in one process, with a data folder of its own."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from millstream.cli.dev.kafka_jars import kafka_jars
from millstream.cli.errors import CommandError

HOST = "127.0.0.1"
_READY, _STOP = 180.0, 30.0  # seconds; a busy machine takes its time
_JVM = (
    *("java", "-Xmx512m", "-Xms128m", "-XX:+UseSerialGC"),
    *("-XX:TieredStopAtLevel=1", "-Xshare:auto"),
)
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    # A misspelt topic is an error of the job, not a new topic.
    "auto.create.topics.enable": "false",
}


@dataclass(slots=True)
class KafkaNode:
    """A node whose data are in `folder`. `password`: clients log in with SASL as `millstream`.
    `settings` are more of the broker's."""

    folder: Path
    port: int
    controller: int
    password: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    jars: Path | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "broker.log"

    @classmethod
    def found(cls, folder: Path) -> KafkaNode | None:
        """The node that was started in a folder, whether it still runs or not."""
        try:
            known = json.loads((folder / "node.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return cls(folder, known["port"], known["controller"])

    def process(self) -> psutil.Process | None:
        """The node's process, if it runs."""
        try:
            pid = int((self.folder / "pid").read_text())
            found = psutil.Process(pid)
            own = str(self._properties) in found.cmdline()
            return found if own and found.status() != psutil.STATUS_ZOMBIE else None
        except (FileNotFoundError, ValueError, psutil.Error):
            return None

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    def start(self) -> float:
        """Starts the node, and waits until it answers; returns the seconds that took."""
        begin = time.monotonic()
        self._check_ports()
        self.jars = self.jars or kafka_jars()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._configure()
        java = [*_JVM, "-cp", f"{self.jars}/*"]
        if not (self.folder / "data").exists():
            self._format(java)
        with self.log.open("ab") as log:
            started = subprocess.Popen(  # noqa: S603 -- a command of our own
                [*java, "kafka.Kafka", str(self._properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C in a terminal does not end it
            )
        (self.folder / "pid").write_text(str(started.pid))
        ports = {"port": self.port, "controller": self.controller}
        (self.folder / "node.json").write_text(json.dumps(ports))
        self._wait(started)
        return time.monotonic() - begin

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL; the data stay as a crash leaves them."""
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        process = self.process()
        if process is None:
            return
        with suppress(psutil.NoSuchProcess):
            process.send_signal(how)
            try:
                process.wait(_STOP)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait(_STOP)
        (self.folder / "pid").unlink(missing_ok=True)

    def _check_ports(self) -> None:
        for port in (self.port, self.controller):
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((HOST, port))
                except OSError:
                    raise CommandError(
                        "MS-CLI-KAFKA",
                        f"port {port} is in use.",
                        fix="Choose another port with --port, or stop the process that uses it.",
                    ) from None

    def _configure(self) -> None:
        client = "SASL_PLAINTEXT" if self.password else "PLAINTEXT"
        listeners = f"CLIENT://{HOST}:{self.port},CONTROLLER://{HOST}:{self.controller}"
        found = {
            **_SETTINGS,
            "controller.quorum.bootstrap.servers": f"{HOST}:{self.controller}",
            "listeners": listeners,
            "advertised.listeners": listeners,
            "inter.broker.listener.name": "CLIENT",
            "listener.security.protocol.map": f"CLIENT:{client},CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.folder / "data"),
        }
        if self.password:
            login = f'username="millstream" password="{self.password}"'
            found |= {
                "sasl.enabled.mechanisms": "PLAIN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "listener.name.client.plain.sasl.jaas.config": (
                    "org.apache.kafka.common.security.plain.PlainLoginModule required "
                    f'{login} user_millstream="{self.password}";'
                ),
            }
        lines = [f"{name}={value}\n" for name, value in {**found, **self.settings}.items()]
        self._properties.touch(mode=0o600)
        self._properties.write_text("".join(lines), encoding="utf-8")

    def _format(self, java: list[str]) -> None:
        name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        name = "A" + name[1:]  # one that begins with - would be taken for an option
        tool = ["kafka.tools.StorageTool", "format", "--standalone", "-t", name]
        command = [*java, *tool, "-c", str(self._properties)]
        try:
            done = subprocess.run(  # noqa: S603 -- a command of our own
                command, capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            raise CommandError(
                "MS-CLI-KAFKA", "java is not installed.", fix="Install Java 17 or newer."
            ) from None
        if done.returncode:
            shutil.rmtree(self.folder / "data", ignore_errors=True)
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise CommandError("MS-CLI-KAFKA", f"Kafka cannot use {self.folder}: {lines[-1]}")

    def _wait(self, started: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + _READY
        while time.monotonic() < until:
            if started.poll() is not None:
                break
            with suppress(OSError):
                socket.create_connection((HOST, self.port), 0.2).close()
                return
            time.sleep(0.05)
        self.kill()
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        causes = [line for line in lines if "ERROR" in line or "Exception" in line]
        why = causes[-1][:300] if causes else f"no answer within {_READY:g} seconds."
        raise CommandError(
            "MS-CLI-KAFKA",
            f"the Kafka node did not start: {why}",
            fix=f"See {self.log}.",
        )
