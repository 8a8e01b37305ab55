"""`millstream bench`: benchmarks of a checkout, peers side by side in one run."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from millstream.cli.fail import CommandError, print_json, reported
from millstream.cli.options import AsJson

EPILOG = """
Examples:

  millstream bench interval-join --rows 400000 --how inner --parts throughput

  millstream bench interval-join --json > result.json

  millstream bench windows --kinds session,dedup --parts throughput

  millstream bench joins --kinds temporal,lookup
"""


def _names(known: str, text: str) -> tuple[str, ...]:
    allowed = known.split(",")
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in allowed:
            raise CommandError(
                "MS-CLI-VALUE", f"{name!r} is not known here.", fix=f"Use of {', '.join(allowed)}."
            )
    return names


_HOWS = "inner,left"
_ENGINES = "columnar,native-rocksdb,native-hdfs"
_PARTS = "throughput,small,growth"


def interval_join(
    rows: Annotated[
        int, typer.Option(min=8_000, help="Orders to join; their shipments come on top.")
    ] = 4_000_000,
    how: Annotated[str, typer.Option(help="Types of join, comma-separated.")] = _HOWS,
    engines: Annotated[str, typer.Option(help="Peers, comma-separated.")] = _ENGINES,
    parts: Annotated[str, typer.Option(help="What to measure, comma-separated.")] = _PARTS,
    as_json: AsJson = False,
) -> None:
    """The interval join against Spark's own: rows/s, small micro-batches, growth of state.

    Every engine runs in a process of its own, on the same generated files, one after the other. All
    of it takes about 25 minutes on two cores.
    """
    with reported(as_json):
        chosen = _names(_HOWS, how), _names(_ENGINES, engines), _names(_PARTS, parts)
        result = _load("bench.interval_join").run(rows, *chosen, _say)
        if as_json:
            print_json(result)
        else:
            _load("bench.show").show(result)


_KINDS = "tumbling,sliding,session,dedup"
_WINDOW_ENGINES = "columnar,native-rocksdb,native-hdfs"
_WINDOW_PARTS = "throughput,open,behind"


def windows(
    rows: Annotated[int, typer.Option(min=8_000, help="Events to aggregate.")] = 4_000_000,
    kinds: Annotated[str, typer.Option(help="Operators, comma-separated.")] = _KINDS,
    engines: Annotated[str, typer.Option(help="Peers, comma-separated.")] = (
        "columnar,native-rocksdb"
    ),
    parts: Annotated[str, typer.Option(help="What to measure, comma-separated.")] = _WINDOW_PARTS,
    as_json: AsJson = False,
) -> None:
    """Windows, sessions and deduplication against Spark's own: rows/s, memory, growth.

    Every engine runs in a process of its own, on the same generated files, one after the other. All
    of it takes about 10 minutes on two cores.
    """
    with reported(as_json):
        chosen = (
            _names(_KINDS, kinds),
            _names(_WINDOW_ENGINES, engines),
            _names(_WINDOW_PARTS, parts),
        )
        result = _load("bench.windows").run(rows, *chosen, _say)
        if as_json:
            print_json(result)
        else:
            _load("bench.show").show(result)


_JOINS = "interval,window,session,temporal,lookup,hot"


def joins(
    rows: Annotated[int, typer.Option(min=8_000, help="Rows of both streams.")] = 4_000_000,
    kinds: Annotated[str, typer.Option(help="Joins, comma-separated.")] = _JOINS,
    engines: Annotated[str, typer.Option(help="Peers, comma-separated.")] = (
        "columnar,native-rocksdb"
    ),
    as_json: AsJson = False,
) -> None:
    """Every join against the best plain-Spark form of its query; lookups; a hot key.

    Every engine runs in a process of its own, on the same generated files, one after the other. All
    of it takes about 20 minutes on two cores. Lookups ask a PostgreSQL that is started for them.
    """
    with reported(as_json):
        chosen = _names(_JOINS, kinds), _names(_WINDOW_ENGINES, engines)
        result = _load("bench.joins").run(rows, *chosen, _say)
        if as_json:
            print_json(result)
        else:
            _load("bench.show").show(result)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _load(name: str) -> Any:
    """Benchmarks are no part of the package: they stand in a checkout, beside `src`."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "bench" / "__init__.py").exists():
        raise CommandError(
            "MS-CLI-BENCH",
            "this installation holds no benchmarks.",
            fix="Run `make bench` in a clone of the repository.",
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module(name)


app = typer.Typer(
    help="Measure joins on this machine, against Spark's own.", no_args_is_help=True, epilog=EPILOG
)
app.command("interval-join")(interval_join)
app.command("windows")(windows)
app.command("joins")(joins)


@app.callback()
def bench() -> None:
    """Measure joins on this machine, against Spark's own."""
