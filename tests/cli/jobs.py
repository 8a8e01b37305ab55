"""Jobs for the command line's tests, and a runner of commands."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from millstream.cli.main import app

SOURCES = """\
CREATE SOURCE orders (
  id STRING, amount INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS
) WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv');

CREATE SOURCE shipments (
  id STRING, carrier STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS
) WITH ('connector' = 'file', 'path' = 'in/shipments', 'format' = 'csv');
"""
JOIN = """\
CREATE SINK shipped WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT o.id, o.amount, s.carrier
FROM orders o LEFT JOIN shipments s
  ON o.id = s.id AND s.at BETWEEN o.at AND o.at + INTERVAL 1 HOUR;
"""
UNBOUNDED = """\
CREATE SINK shipped WITH ('connector' = 'console') AS
SELECT o.id FROM orders o
JOIN shipments s ON o.id = s.id;
"""
ORDERS = "id,amount,at\nA,1,2026-01-15T10:00:00Z\nB,2,2026-01-15T10:05:00Z\n"
SHIPMENTS = "id,carrier,at\nA,UPS,2026-01-15T10:30:00Z\n"


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def project(folder: Path, text: str = SOURCES + JOIN) -> Path:
    """A job with its input in a folder; the path of its SQL."""
    for name, rows in (("orders", ORDERS), ("shipments", SHIPMENTS)):
        (folder / "in" / name).mkdir(parents=True)
        (folder / "in" / name / "1.csv").write_text(rows)
    job = folder / "job.sql"
    job.write_text(text)
    return job
