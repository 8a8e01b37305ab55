"""`millstream bench`: runs the benchmarks of a repository clone and compares engines."""

from __future__ import annotations

from typing import Annotated

import typer

from millstream.cli.checkout import load, names_in, say
from millstream.cli.errors import print_json, reported
from millstream.cli.options import AsJson

EPILOG = """
Examples:

  millstream bench interval-join --rows 400000 --how inner --parts throughput

  millstream bench interval-join --json > result.json

  millstream bench windows --kinds session,dedup --parts throughput

  millstream bench joins --kinds temporal,lookup

  millstream bench catalog --json

  millstream bench sources --json
"""


_HOWS = "inner,left"
_ENGINES = "columnar,native-rocksdb,native-hdfs"
_PARTS = "throughput,small,growth"


def interval_join(
    rows: Annotated[
        int, typer.Option(min=8_000, help="Orders to join; shipments are additional rows.")
    ] = 4_000_000,
    how: Annotated[str, typer.Option(help="Join types, comma-separated.")] = _HOWS,
    engines: Annotated[str, typer.Option(help="Engines, comma-separated.")] = _ENGINES,
    parts: Annotated[str, typer.Option(help="What to measure, comma-separated.")] = _PARTS,
    as_json: AsJson = False,
) -> None:
    """Compare the interval join with Spark's stream-stream join.

    Measures rows per second, latency of small micro-batches, and growth of state. Each engine runs
    in its own process on the same generated files, one after the other. Takes about 25 minutes on
    two cores.
    """
    with reported(as_json):
        chosen = names_in(how, _HOWS), names_in(engines, _ENGINES), names_in(parts, _PARTS)
        result = load("bench.interval_join").run(rows, *chosen, say)
        if as_json:
            print_json(result)
        else:
            load("bench.show").show(result)


_KINDS = "tumbling,sliding,session,short-session,dedup"
_WINDOW_ENGINES = "columnar,native-rocksdb,native-hdfs"
_WINDOW_PARTS = "throughput,open,behind"


def windows(
    rows: Annotated[int, typer.Option(min=8_000, help="Events to aggregate.")] = 4_000_000,
    kinds: Annotated[str, typer.Option(help="Operators, comma-separated.")] = _KINDS,
    engines: Annotated[str, typer.Option(help="Engines, comma-separated.")] = (
        "columnar,native-rocksdb"
    ),
    parts: Annotated[str, typer.Option(help="What to measure, comma-separated.")] = _WINDOW_PARTS,
    as_json: AsJson = False,
) -> None:
    """Compare windows, sessions and deduplication with Spark's operators.

    Measures rows per second, memory, and growth of state. Each engine runs in its own process on
    the same generated files, one after the other. Takes about 10 minutes on two cores.
    """
    with reported(as_json):
        chosen = (
            names_in(kinds, _KINDS),
            names_in(engines, _WINDOW_ENGINES),
            names_in(parts, _WINDOW_PARTS),
        )
        result = load("bench.windows").run(rows, *chosen, say)
        if as_json:
            print_json(result)
        else:
            load("bench.show").show(result)


_JOINS = "interval,window,session,temporal,lookup,hot"


def joins(
    rows: Annotated[int, typer.Option(min=8_000, help="Rows of both streams.")] = 4_000_000,
    kinds: Annotated[str, typer.Option(help="Joins, comma-separated.")] = _JOINS,
    engines: Annotated[str, typer.Option(help="Engines, comma-separated.")] = (
        "columnar,native-rocksdb"
    ),
    as_json: AsJson = False,
) -> None:
    """Compare every join with the fastest equivalent Spark query.

    Includes lookups, in a PostgreSQL server that is started for them, and a skewed key. Each engine
    runs in its own process on the same generated files, one after the other. Takes about 20 minutes
    on two cores.
    """
    with reported(as_json):
        chosen = names_in(kinds, _JOINS), names_in(engines, _WINDOW_ENGINES)
        result = load("bench.joins").run(rows, *chosen, say)
        if as_json:
            print_json(result)
        else:
            load("bench.show").show(result)


_CATALOG_PARTS = "joins,reads"


def catalog(
    rows: Annotated[int, typer.Option(min=1_000, help="Input rows of a run.")] = 10_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="Measured runs, after a warm-up run.")] = 3,
    datasets: Annotated[int, typer.Option(min=1, help="Datasets of the large catalog.")] = 10_000,
    versions: Annotated[int, typer.Option(min=1, help="Versions of each dataset.")] = 20,
    parts: Annotated[str, typer.Option(help="What to measure, comma-separated.")] = _CATALOG_PARTS,
    as_json: AsJson = False,
) -> None:
    """Compare a catalog project of three joins with PySpark, and measure reads of a large catalog.

    Both read the same files and write their results, in turn, in one Spark session. Takes about 5
    minutes on two cores.
    """
    with reported(as_json):
        chosen = names_in(parts, _CATALOG_PARTS)
        result = load("bench.catalog").run(rows, rounds, datasets, versions, chosen, say)
        if as_json:
            print_json(result)
        else:
            load("bench.show").show(result)


_SOURCE_PARTS = "kafka,postgresql"


def sources(
    rows: Annotated[int, typer.Option(min=8_000, help="Rows that a job writes.")] = 2_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="Measured runs of each job.")] = 2,
    parts: Annotated[str, typer.Option(help="What to measure, comma-separated.")] = _SOURCE_PARTS,
    as_json: AsJson = False,
) -> None:
    """Measure sources and sinks of other systems, which are started for it.

    Jobs run one after the other in one Spark session. Takes about 6 minutes on two cores.
    """
    with reported(as_json):
        chosen = names_in(parts, _SOURCE_PARTS)
        result = load("bench.sources").run(rows, rounds, chosen, say)
        if as_json:
            print_json(result)
        else:
            load("bench.show").show(result)


app = typer.Typer(
    help="Run benchmarks and compare Millstream with Spark.", no_args_is_help=True, epilog=EPILOG
)
app.command("interval-join")(interval_join)
app.command("windows")(windows)
app.command("joins")(joins)
app.command("catalog")(catalog)
app.command("sources")(sources)


@app.callback()
def bench() -> None:
    """Run benchmarks and compare Millstream with Spark."""
