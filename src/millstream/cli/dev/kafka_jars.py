"""The jars of a Kafka node, resolved by name and stored in a folder of the user.

Maven resolves them if it is installed, otherwise Ivy, which comes with Spark.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from millstream.cli.errors import CommandError

VERSION = "4.1.0"
_NAME = "org.apache.kafka:kafka_2.13"
_TIMEOUT = 600  # seconds
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>millstream</groupId><artifactId>kafka-node</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
  </dependency></dependencies>
</project>
"""


def cache_folder() -> Path:
    """MILLSTREAM_CACHE, or the folder of caches on this system."""
    given = os.environ.get("MILLSTREAM_CACHE")
    if given:
        return Path(given)
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(caches) / "millstream"


def kafka_jars(folder: Path | None = None) -> Path:
    """Returns the folder of the jars; resolves them the first time."""
    target = (folder or cache_folder()) / f"kafka-{VERSION}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Complete or not there: another process may resolve them at the same time.
    with tempfile.TemporaryDirectory(dir=target.parent) as made:
        jars = Path(made) / "jars"
        jars.mkdir()
        if shutil.which("mvn"):
            _with_maven(Path(made), jars)
        else:
            _with_ivy(Path(made), jars)
        try:
            jars.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    return target


def _with_maven(folder: Path, jars: Path) -> None:
    group, artifact = _NAME.split(":")
    pom = _POM.format(group=group, artifact=artifact, version=VERSION)
    (folder / "pom.xml").write_text(pom, encoding="utf-8")
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
    _run(["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), *goal], jars)


def _with_ivy(folder: Path, jars: Path) -> None:
    """spark-submit resolves packages before it runs a class; this one prints a UUID."""
    import pyspark

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    command = [str(home / "bin" / "spark-submit"), "--packages", f"{_NAME}:{VERSION}"]
    command += ["--conf", f"spark.jars.ivy={folder}", "--class", "kafka.tools.StorageTool"]
    _run([*command, "spark-internal", "random-uuid"], folder / "jars")
    # Ivy names a jar org_group_artifact-version.jar, and leaves out Scala, which Spark has.
    for jar in (home / "jars").glob("scala-library-*.jar"):
        shutil.copy(jar, jars)


def _run(command: Sequence[str], jars: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603 -- a command of our own
            command, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
        output = done.stdout + done.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        output = str(error)
    if not any(jars.glob("*kafka_2.13-*.jar")):
        lines = [line.strip() for line in output.splitlines() if "error" in line.lower()]
        cause = (lines or [output.strip()])[0][:300]
        raise CommandError(
            "MS-CLI-KAFKA",
            f"the jars of Kafka {VERSION} cannot be resolved: {cause}",
            fix="Check the connection to Maven Central, or a mirror in ~/.m2/settings.xml.",
        )
