"""`millstream dev postgres` runs a server that keeps its data between starts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.services.ports import free_port
from typer.testing import CliRunner

from millstream.cli.main import app


def invoke(folder: Path, command: str, *arguments: str) -> tuple[int, str]:
    options = ["dev", "postgres", command, "--folder", str(folder), *arguments]
    result = CliRunner().invoke(app, options)
    return result.exit_code, result.output


@pytest.mark.service
def test_a_server_keeps_its_data_until_it_is_removed(capfd):
    with tempfile.TemporaryDirectory(prefix="millstream-dev-") as parent:
        Path(parent).chmod(0o755)  # PostgreSQL runs as another user if the test is run by root
        folder, port = Path(parent) / "postgres", str(free_port())
        try:
            code, text = invoke(folder, "up", "--port", port)
            assert code == 0, text
            assert f"PostgreSQL is ready at postgresql://127.0.0.1:{port}/postgres" in text
            assert (folder / "password").read_text() not in text
            assert "already runs" in invoke(folder, "up")[1]
            create = "CREATE TABLE t AS SELECT 42 AS n"
            assert invoke(folder, "psql", "--", "-q", "-c", create)[0] == 0
            assert "Stopped." in invoke(folder, "down")[1]
            assert invoke(folder, "up", "--port", port)[0] == 0
            assert invoke(folder, "psql", "--", "-At", "-c", "SELECT n FROM t")[0] == 0
            assert "42" in capfd.readouterr().out
            assert invoke(folder, "psql", "--", "-c", "SELECT wrong")[0] == 1
        finally:
            invoke(folder, "down", "--remove")
        assert not folder.exists()


def test_a_command_without_a_server_is_an_error(tmp_path):
    code, text = invoke(tmp_path, "psql")
    assert code == 2
    assert "MS-CLI-POSTGRESQL" in text
    assert invoke(tmp_path, "down")[1].strip() == "No server runs in this folder."
