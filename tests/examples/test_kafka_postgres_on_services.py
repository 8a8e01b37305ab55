"""The example with Kafka and PostgreSQL runs with one command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.services.ports import free_port

EXAMPLE = Path(__file__).parents[2] / "examples" / "kafka-postgres"
EXPECTED = """   carrier   | orders |  amount
-------------+--------+----------
 DHL         |    270 | 66345.62
 FedEx       |    261 | 65719.24
 UPS         |    268 | 66381.66
 not shipped |    201 | 49413.51
"""


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.timeout(900)
def test_the_example_prints_the_orders_of_each_carrier() -> None:
    ports = {"KAFKA_PORT": str(free_port()), "POSTGRES_PORT": str(free_port())}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # PostgreSQL runs as another user if the test is run by root, so pytest's folder is no place.
    with tempfile.TemporaryDirectory(prefix="millstream-example-") as parent:
        Path(parent).chmod(0o755)
        folder = Path(parent) / "kafka-postgres"
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".millstream"))
        done = subprocess.run(
            ["sh", str(folder / "run.sh")],
            env={**os.environ, **ports, "PATH": programs},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert EXPECTED in "".join(f"{line}\n" for line in lines)
