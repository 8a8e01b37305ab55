"""`python -m bench.peers`: NEXMark on PyFlink, in an environment that it makes for itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from bench.nexmark.run import geometric
from bench.nexmark.suite import QUERIES
from bench.nexmark.worker import Task
from bench.nexmark.write import Data, read
from bench.peers.deal import deal
from bench.runs import measure

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv"
NOT_POSSIBLE = {"q6": "Flink's OVER takes no stream whose rows change, and winning bids do"}

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _python() -> Path:
    """The Python of the peers' environment, which is made at the first call."""
    python = ENVIRONMENT / "bin" / "python"
    stamp, wanted = ENVIRONMENT / ".installed", HERE / "requirements.txt"
    if stamp.exists() and stamp.stat().st_mtime >= wanted.stat().st_mtime:
        return python
    _say(f"Installing PyFlink into {ENVIRONMENT} (about 850 MB, a few minutes)")
    venv.create(ENVIRONMENT, with_pip=True)
    command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*command, "-r", str(wanted)], check=True)  # noqa: S603 -- our own list
    stamp.touch()
    return python


@app.command()
def setup() -> None:
    """Make the environment; `run` does it, too, when there is none."""
    print(_python())


@app.command()
def run(
    data: Annotated[Path, typer.Option(help="Events of `millstream nexmark generate`.")],
    queries: Annotated[str, typer.Option(help="Comma-separated, or all.")] = "all",
    against: Annotated[
        Path | None,
        typer.Option(help="What `millstream nexmark run --data … --json` printed, for the ratio."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run queries on PyFlink: in-memory state, parallelism 2, each in a process of its own.

    Flink takes the files of a folder in any order, and drops what is late then. So it gets the same
    events in the same order, dealt out to two CSV files, one for each reader.
    """
    python, made = _python(), read(data.resolve())
    names = list(QUERIES) if queries == "all" else [name.strip() for name in queries.split(",")]
    ours = _ours(against) if against else {}
    with tempfile.TemporaryDirectory(prefix="millstream-peers-") as dealt:
        _say(f"dealing {made.options.events:,} events out to two files of each kind")
        deal(made.options, Path(dealt))
        table = [_row(python, name, made, Path(dealt), ours) for name in names]
    ratios = [row["columnar_is"] for row in table if "columnar_is" in row]
    result: dict[str, Any] = {"benchmark": "nexmark on PyFlink", "throughput": table}
    if ratios:
        result["columnar_is"] = geometric(ratios)
        _say(f"geometric mean over {len(ratios)} queries: columnar is {result['columnar_is']} ×")
    if as_json:
        print(json.dumps(result, indent=2))
    if any("failed" in row for row in table):
        raise typer.Exit(1)


@app.command()
def compare(
    data: Annotated[Path, typer.Option(help="Events of `millstream nexmark generate`.")],
    queries: Annotated[str, typer.Option(help="Comma-separated.")] = "q3,q4,q8,q9,q11,q20",
    files: Annotated[
        str, typer.Option(help="Files of each kind in a micro-batch; several: one run for each.")
    ] = "2,10",
    repeat: Annotated[int, typer.Option(min=1, help="Rounds; the medians are reported.")] = 3,
) -> None:
    """Run queries on Millstream and on PyFlink in turn, several times; print medians as JSON."""
    python, made = _python(), read(data.resolve())
    cuts = [int(each) for each in files.split(",")]
    table = []
    with tempfile.TemporaryDirectory(prefix="millstream-peers-") as dealt:
        _say(f"dealing {made.options.events:,} events out to two files of each kind")
        deal(made.options, Path(dealt))
        for name in queries.split(","):
            seconds: dict[str, list[float]] = {}
            for _ in range(repeat):
                for cut in cuts:
                    task = Task("columnar", name, str(data.resolve()), files=cut)
                    took = measure(task, _say, "bench.nexmark.worker")["seconds"]
                    seconds.setdefault(f"columnar, {cut} files", []).append(took)
                theirs = _measured(python, name, made, Path(dealt))
                if "failed" in theirs:
                    raise typer.BadParameter(f"Flink does not run {name}: {theirs['failed']}")
                seconds.setdefault("flink", []).append(theirs["seconds"])
            flink = median(seconds["flink"])
            row = {"query": name, "seconds": seconds}
            row["columnar_is"] = {
                each: round(flink / median(took), 2)
                for each, took in seconds.items()
                if each != "flink"
            }
            _say(f"  {name}: {row['columnar_is']} × of {seconds}")
            table.append(row)
    print(json.dumps({"benchmark": "nexmark beside PyFlink", "throughput": table}, indent=2))


def _row(python: Path, name: str, data: Data, dealt: Path, ours: dict[str, int]) -> dict[str, Any]:
    if name in NOT_POSSIBLE:
        row: dict[str, Any] = {"query": name, "not_possible": NOT_POSSIBLE[name]}
    else:
        row = _measured(python, name, data, dealt)
    if "rows_per_second" in row and name in ours:
        row["columnar_rows_per_second"] = ours[name]
        row["columnar_is"] = round(ours[name] / row["rows_per_second"], 2)
    _say("  ".join(f"{key.replace('_', ' ')} {value}" for key, value in row.items()))
    return row


def _ours(path: Path) -> dict[str, int]:
    rows = json.loads(path.read_text(encoding="utf-8"))["throughput"]
    return {row["query"]: row["rows_per_second"] for row in rows if row["engine"] == "columnar"}


def _measured(python: Path, name: str, data: Data, dealt: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="millstream-peers-") as scratch:
        result, log = Path(scratch) / "result.json", Path(scratch) / "log"
        task = {"query": name, "folder": str(dealt), "out": f"{scratch}/out"}
        # Nothing of this Python's own may reach the other.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with log.open("wb") as output:
            done = subprocess.run(  # noqa: S603 -- our own script
                [str(python), str(HERE / "flink_worker.py"), json.dumps(task), str(result)],
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            causes = [line for line in lines if "Caused by" in line or "Exception" in line]
            return {"query": name, "failed": (causes or lines or ["no reason given"])[-1].strip()}
        measured = json.loads(result.read_text(encoding="utf-8"))
    rows = sum(data.counts()[kind] for kind in QUERIES[name].reads)
    return {
        "query": name,
        "rows_per_second": round(rows / measured["seconds"]),
        "seconds": measured["seconds"],
        "prepare_seconds": measured["prepare_seconds"],
        "peak_memory_mb": round(measured["peak_memory_bytes"] / 2**20),
    }


if __name__ == "__main__":
    app()
