"""A run's figures as a page with plots."""

from __future__ import annotations

from bench.nexmark.options import Options
from bench.nexmark.report import write_report
from bench.nexmark.run import geometric
from bench.nexmark.write import Data, manifest


def row(query: str, engine: str, rate: int, ratio: float | None = None) -> dict[str, object]:
    return {
        "query": query,
        "engine": engine,
        "rows_per_second": rate,
        "steady_rows_per_second": 2 * rate,
        "batch_ms": [900, 300, 310],
        "first_batch_ms": 900,
        "peak_memory_mb": 1_500,
        "state_rows": 12_000,
        "checkpoint_mb": 1.5,
        "rows_out": 7,
        **({"to_spark": ratio, "to_spark_steady": ratio} if ratio else {}),
    }


def test_a_report_has_a_row_an_engine_the_means_and_what_was_not_run(tmp_path):
    data = Data(tmp_path, Options(50_000, disorder=2_000_000), 10, "parquet")
    table = [
        row("q0", "columnar", 1_000, 1.2),
        row("q0", "spark", 800, 1.0),
        row("q6", "columnar", 9),
    ]
    result = {
        "settings": {**manifest(data), "files_per_batch": 1, "cores": 2},
        "machine": {"cpus": 2},
        "throughput": table,
        "not_run": [{"query": "q6", "engine": "spark", "reason": "no OVER"}],
        "means": {
            "columnar": {
                "queries": 1, "to_spark": 1.2, "to_spark_steady": 1.3, "least_to_spark": 1.2
            }
        },
    }  # fmt: skip
    page = write_report(result, tmp_path / "report", "millstream nexmark run")
    text = page.read_text(encoding="utf-8")
    assert "50,000 events, 10,000 a second of event time, seed 1, out of order by up to 2 s" in text
    assert "**columnar is 1.2 × Spark** over the whole run, 1.3 × when warm" in text
    assert "| q0 pass through | columnar | 1,000 | 1.2 | 2,000 | 1.2 | 305 | 900 | 1,500 |" in text
    assert "| q6 average selling price by seller | columnar | 9 |  | 18 |  |" in text
    assert "| q6 | spark | no OVER |" in text
    for name in ("nexmark-rates.png", "nexmark-ratios.png", "nexmark-batches.png"):
        assert f"]({name})" in text
        assert (page.parent / name).read_bytes().startswith(b"\x89PNG")


def test_the_mean_of_ratios_is_the_geometric_one():
    assert geometric([0.5, 2.0]) == 1.0
    assert geometric([1.0, 4.0, 2.0]) == 2.0
