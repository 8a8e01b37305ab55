"""`millstream nexmark`: generates, verifies and measures the NEXMark benchmark."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from millstream.cli.checkout import load, names_in, say
from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.options import AsJson
from millstream.temporal import format_span, parse_span

EPILOG = """
Examples:

  millstream nexmark generate data --events 1000000

  millstream nexmark verify

  millstream nexmark verify --queries q4,q9 --seeds 1,2,3,4,5 --shapes out-of-order

  millstream nexmark run --events 5000000 --json > result.json

  millstream nexmark report result.json --to report
"""

_QUERIES = ",".join(f"q{number}" for number in range(23))
_SHAPES = "in-order,out-of-order,over-midnight,at-once"
_ENGINES = "columnar,native"
_FORMATS = "parquet,json,csv"

Queries = Annotated[str, typer.Option(help="Queries, comma-separated: q0 to q22, or all.")]
Rate = Annotated[int, typer.Option(min=1, help="Events per second of event time.")]
Disorder = Annotated[
    str, typer.Option(metavar="2s", help="Maximum delay of events; 0s: events are in order.")
]


def generate(
    folder: Annotated[Path, typer.Argument(help="The output folder; must be new or empty.")],
    events: Annotated[int, typer.Option(min=1, help="Persons, auctions and bids, 1 : 3 : 46.")] = (
        1_000_000
    ),
    files: Annotated[
        int, typer.Option(min=1, help="Files per event type; files are consecutive time slices.")
    ] = 8,
    form: Annotated[str, typer.Option("--format", help=f"One of {_FORMATS}.")] = "parquet",
    seed: Annotated[int, typer.Option(min=0, help="The random seed.")] = 1,
    rate: Rate = 10_000,
    disorder: Disorder = "0s",
    hot_auctions: Annotated[
        int, typer.Option(min=1, help="N: of N bids, N - 1 are for a hot auction.")
    ] = 2,
    hot_bidders: Annotated[
        int, typer.Option(min=1, help="N: of N bids, N - 1 are by a hot bidder.")
    ] = 4,
    hot_sellers: Annotated[
        int, typer.Option(min=1, help="N: of N auctions, N - 1 are by a hot seller.")
    ] = 4,
    in_flight: Annotated[int, typer.Option(min=1, help="Open auctions at any time.")] = 100,
    active: Annotated[int, typer.Option(min=1, help="Active persons at any time.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Generate files of persons, auctions and bids, deterministically.

    Writes the folders person/, auction/, bid/ and side_input/, and nexmark.json with the options.
    """
    with reported(as_json):
        names_in(form, _FORMATS)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(
                "MS-CLI-FILE",
                f"{folder} is not an empty folder.",
                fix="Use a new folder, or remove the files in it.",
            )
        ratios = (hot_auctions, hot_bidders, hot_sellers)
        options = _options(events, seed, rate, _micros(disorder), *ratios, in_flight, active)
        write = load("bench.nexmark.write")
        data = write.write(options, folder, files=files, form=form, say=say)
        if as_json:
            print_json({"folder": str(data.folder), **write.manifest(data)})


def verify(
    queries: Queries = "all",
    seeds: Annotated[str, typer.Option(help="Seeds, comma-separated.")] = "1,2",
    shapes: Annotated[
        str, typer.Option(help=f"Arrival orders, comma-separated: {_SHAPES}, or all.")
    ] = "all",
    events: Annotated[int, typer.Option(min=50, help="Approximate number of events.")] = 20_000,
    engine: Annotated[
        str, typer.Option(help=f"Engines, comma-separated: {_ENGINES}.")
    ] = "columnar",
    as_json: AsJson = False,
) -> None:
    """Compare the result of every query with DuckDB's result over all events.

    Each seed is tested in each arrival order, with different sizes and divisions into
    micro-batches. Exits with code 1 if a result differs.
    """
    with reported(as_json):
        numbers = _numbers(seeds)
        names, engines = names_in(queries, _QUERIES), names_in(engine, _ENGINES)
        wanted = names_in(shapes, _SHAPES)
        module = load("bench.nexmark.verify")
        from millstream.engine.runtime.session import local_session

        spark = local_session()
        verdicts = []
        for verdict in module.verify(
            spark,
            module.chosen(names),
            numbers,
            [module.SHAPES[name] for name in wanted],
            events,
            engines,
            say,
        ):
            verdicts.append(verdict)
            say(str(verdict))
        spark.stop()
        states = [verdict.state for verdict in verdicts]
        counted = {state: states.count(state) for state in ("passed", "failed", "skipped")}
        if as_json:
            print_json({**counted, "verdicts": [verdict.as_data() for verdict in verdicts]})
        else:
            print(", ".join(f"{count} {state}" for state, count in counted.items() if count))
        if "failed" in states or "passed" not in states:
            raise typer.Exit(1)


def run(
    queries: Queries = "all",
    events: Annotated[int, typer.Option(min=500, help="Events to generate.")] = 5_000_000,
    engine: Annotated[str, typer.Option(help=f"Engines, comma-separated: {_ENGINES}.")] = _ENGINES,
    spark: Annotated[
        bool, typer.Option(help="Also measure the equivalent Spark query, for the ratio.")
    ] = True,
    batches: Annotated[int, typer.Option(min=2, help="Number of micro-batches.")] = 10,
    rate: Rate = 10_000,
    disorder: Disorder = "2s",
    seed: Annotated[int, typer.Option(min=0, help="The random seed.")] = 1,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Read events from this output folder of `generate`."),
    ] = None,
    files: Annotated[int, typer.Option(min=1, help="Files per event type and micro-batch.")] = 1,
    report: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write nexmark.md and its plots here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure queries: rows per second, batch times, memory, state, checkpoint.

    Rows per second are measured for the whole run and in steady state. Each engine runs each query
    in its own process on the same files, one after the other, and so does Spark with its fastest
    equivalent query. Disorder must be within the watermark delay of 4 s.
    """
    with reported(as_json):
        chosen = names_in(queries, _QUERIES), names_in(engine, _ENGINES)
        if data is not None and not (data / "nexmark.json").exists():
            raise CommandError(
                "MS-CLI-FILE",
                f"{data} contains no NEXMark events.",
                fix="Generate them: millstream nexmark generate",
            )
        suite = load("bench.nexmark.suite")
        options = _options(events, seed, rate, _micros(disorder))
        if options.disorder > suite.DELAY:
            raise CommandError(
                "MS-CLI-VALUE",
                f"events that are out of order by {disorder} would be late: the watermark delay is "
                f"{format_span(suite.DELAY)}.",
                fix=f"Use --disorder {format_span(suite.DELAY)} or less.",
            )
        result = load("bench.nexmark.run").run(
            [suite.QUERIES[name] for name in chosen[0]],
            chosen[1],
            options,
            say,
            batches=batches,
            data=data,
            files=files,
            raw=spark,
        )
        result["command"] = " ".join(["millstream", *sys.argv[1:]])
        if report is not None:
            say(f"{_report(result, report)}")
        if as_json:
            print_json(result)
        else:
            load("bench.show").show(result)
        if not result["throughput"]:
            raise typer.Exit(1)


def report(
    result: Annotated[Path, typer.Argument(help="The output of `run --json`.")],
    to: Annotated[Path, typer.Option(metavar="DIR", help="The output folder.")] = Path(),
) -> None:
    """Write a Markdown page and plots of a result."""
    with reported():
        try:
            figures = json.loads(result.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CommandError(
                "MS-CLI-FILE",
                f"cannot read {result}: {error}.",
                fix="Create it: millstream nexmark run --json > result.json",
            ) from None
        print(_report(figures, to))


def _report(figures: dict[str, Any], to: Path) -> Path:
    try:
        page: Path = load("bench.nexmark.report").write_report(figures, to, figures["command"])
    except ImportError as error:
        raise CommandError(
            "MS-CLI-BENCH",
            f"plots need {error.name}, which is not installed.",
            fix="Install it: pip install 'millstream[bench]'",
        ) from None
    return page


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise CommandError(
            "MS-CLI-VALUE", f"{text!r} is not a list of integers.", fix="Write --seeds 1,2,3."
        )
    return [int(part) for part in parts]


def _options(*values: int) -> Any:
    try:
        return load("bench.nexmark.options").Options(*values)
    except ValueError as error:
        raise CommandError("MS-CLI-VALUE", str(error)) from None


def _micros(text: str) -> int:
    span = parse_span(text)
    if span < 0:
        raise CommandError("MS-CLI-VALUE", f"{text!r} is negative.", fix="Use 0s or more.")
    return span


app = typer.Typer(
    help="Generate, verify and measure the NEXMark benchmark.",
    no_args_is_help=True,
    epilog=EPILOG,
)
app.command("generate")(generate)
app.command("verify")(verify)
app.command("run")(run)
app.command("report")(report)


@app.callback()
def nexmark() -> None:
    """Generate, verify and measure the NEXMark benchmark."""
