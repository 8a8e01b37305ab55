"""A schema registry of its own for tests: Apicurio, resolved by name from Maven Central."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.services.ports import free_port

from millstream.cli.dev.kafka_jars import cache_folder

VERSION = "3.0.9"
_ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
_ARCHIVE = f"apicurio-registry-app-{VERSION}-all.tar.gz"
_JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_READY = 120.0  # seconds


@dataclass(slots=True)
class RegistryNode:
    """Apicurio with its data in memory. Confluent's REST API is below `url`."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def start(self) -> None:
        jar = registry_files() / f"apicurio-registry-app-{VERSION}-runner.jar"
        options = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self.port}"]
        with (self.folder / "registry.log").open("wb") as log:
            self.process = subprocess.Popen(
                ["java", *_JVM, *options, "-jar", str(jar)], stdout=log, stderr=log
            )
        until = time.monotonic() + _READY
        while time.monotonic() < until and self.process.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/subjects", timeout=5):
                return
            time.sleep(0.2)
        self.stop()
        raise RuntimeError((self.folder / "registry.log").read_text()[-2000:])

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def registry_files() -> Path:
    """Returns the folder of Apicurio's files; Maven resolves them the first time."""
    target = cache_folder() / f"apicurio-{VERSION}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as made:
        goal = ["dependency:copy", f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={made}"]
        subprocess.run(["mvn", "-q", "-B", *goal], check=True, timeout=600)
        with tarfile.open(Path(made) / _ARCHIVE) as archive:
            archive.extractall(Path(made) / "files", filter="data")
        with suppress(OSError):  # another process has resolved them
            (Path(made) / "files").rename(target)
    return target


@pytest.fixture(scope="session")
def registry() -> Iterator[RegistryNode]:
    folder = Path(tempfile.mkdtemp(prefix="millstream-registry-"))
    node = RegistryNode(free_port(), folder)
    try:
        node.start()
        yield node
    finally:
        node.stop()
        shutil.rmtree(folder, ignore_errors=True)
