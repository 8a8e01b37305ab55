"""A run's figures for people: a page in Markdown and its plots."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from bench.nexmark.suite import QUERIES

_COLUMNS = {
    "query": "query",
    "engine": "engine",
    "rows/s": "rows_per_second",
    "to Spark": "to_spark",
    "steady rows/s": "steady_rows_per_second",
    "to Spark, steady": "to_spark_steady",
    "a batch, ms": "batch",
    "first batch, ms": "first_batch_ms",
    "peak memory, MB": "peak_memory_mb",
    "rows in state": "state_rows",
    "checkpoint, MB": "checkpoint_mb",
    "rows out": "rows_out",
}
_COLOURS = {"columnar": "#1f6f8b", "native": "#99a8b2", "spark": "#e2a03f"}


def write_report(result: dict[str, Any], folder: Path, command: str) -> Path:
    """`nexmark.md` and the PNGs that it shows."""
    folder.mkdir(parents=True, exist_ok=True)
    table = result["throughput"]
    plots = {
        "nexmark-rates.png": _rates,
        "nexmark-ratios.png": _ratios,
        "nexmark-batches.png": _batches,
    }
    drawn = [name for name, draw in plots.items() if draw(table, folder / name)]
    page = folder / "nexmark.md"
    page.write_text("\n".join(_page(result, command, drawn)) + "\n", encoding="utf-8")
    return page


def _page(result: dict[str, Any], command: str, drawn: list[str]) -> Iterable[str]:
    settings, machine = result["settings"], result["machine"]
    options = settings["options"]
    yield "# NEXMark"
    yield ""
    yield (
        f"`{command}`: {options['events']:,} events, {options['rate']:,} a second of event time, "
        f"seed {options['seed']}, out of order by up to {options['disorder'] / 1e6:g} s; "
        f"{settings['files']} files of each kind ({settings['format']}), "
        f"{settings['files_per_batch']} of each a micro-batch; {settings['cores']} cores."
    )
    yield ""
    yield ", ".join(f"{name} {value}" for name, value in machine.items()) + "."
    yield ""
    for engine, mean in result["means"].items():
        yield (
            f"Geometric mean over the {mean['queries']} queries that plain Spark can run: "
            f"**{engine} is {mean['to_spark']} × Spark** over the whole run, "
            f"{mean['to_spark_steady']} × when warm; the least is {mean['least_to_spark']} ×."
        )
        yield ""
    for name in drawn:
        yield f"![{name.removesuffix('.png').replace('-', ', ')}]({name})"
        yield ""
    yield from _table(result["throughput"])
    if result["not_run"]:
        yield ""
        yield "Not run:"
        yield ""
        yield "| query | engine | because |"
        yield "|---|---|---|"
        for row in result["not_run"]:
            yield f"| {row['query']} | {row['engine']} | {row['reason']} |"


def _table(table: list[dict[str, Any]]) -> Iterable[str]:
    yield "| " + " | ".join(_COLUMNS) + " |"
    yield "|" + "---|" * len(_COLUMNS)
    for row in table:
        shown = row | {
            "batch": round(median(row["batch_ms"][len(row["batch_ms"]) // 2 :])),
            "query": f"{row['query']} {QUERIES[row['query']].about}",
        }
        yield "| " + " | ".join(_text(shown.get(name)) for name in _COLUMNS.values()) + " |"


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


def _rates(table: list[dict[str, Any]], path: Path) -> bool:
    """Bars: rows a second when warm, by query and engine."""
    names, engines = _order(table)
    figure, axes = _figure(10, 4)
    width = 0.8 / len(engines)
    for place, engine in enumerate(engines):
        rates = _by_query(table, engine, "steady_rows_per_second")
        at = [names.index(name) + place * width for name in rates]
        axes.bar(at, list(rates.values()), width, label=engine, color=_COLOURS.get(engine))
    axes.set_xticks([n + width * (len(engines) - 1) / 2 for n in range(len(names))], names)
    axes.set_ylabel("rows/s, steady")
    axes.set_yscale("log")
    axes.legend(frameon=False)
    figure.savefig(path)
    return True


def _ratios(table: list[dict[str, Any]], path: Path) -> bool:
    """Points: how many times as fast as Spark's own form."""
    names, engines = _order(table)
    figure, axes = _figure(10, 3)
    found = False
    for engine in engines:
        ratios = _by_query(table, engine, "to_spark_steady")
        if engine == "spark" or not ratios:
            continue
        found = True
        at = [names.index(name) for name in ratios]
        axes.plot(at, list(ratios.values()), "o", label=engine, color=_COLOURS.get(engine))
    if found:
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} ×")
        axes.set_xticks(range(len(names)), names)
        axes.set_ylabel("to Spark, steady")
        axes.legend(frameon=False)
        figure.savefig(path)
    return found


def _batches(table: list[dict[str, Any]], path: Path) -> bool:
    """Lines: the time of each micro-batch, a query each, to see whether it grows."""
    names, engines = _order(table)
    figure, axes = _figure(10, 4)
    for name in names:
        for row in table:
            if row["query"] == name and row["engine"] == engines[0]:
                axes.plot(row["batch_ms"], linewidth=1, label=name)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel(f"micro-batch, {engines[0]}")
    axes.set_ylabel("ms")
    axes.set_yscale("log")
    axes.legend(
        frameon=False, ncols=2, fontsize="x-small", loc="center left", bbox_to_anchor=(1, 0.5)
    )
    figure.savefig(path)
    return True


def _order(table: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The queries and engines of the table, each once."""
    return list(dict.fromkeys(row["query"] for row in table)), list(
        dict.fromkeys(row["engine"] for row in table)
    )


def _by_query(table: list[dict[str, Any]], engine: str, what: str) -> dict[str, float]:
    return {row["query"]: row[what] for row in table if row["engine"] == engine and what in row}


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure((width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
