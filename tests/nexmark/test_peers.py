"""Peers get the same events, in the same order."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from bench.nexmark.columns import COLUMNS
from bench.nexmark.events import KINDS, Generator
from bench.nexmark.options import Options
from bench.nexmark.suite import HERE, QUERIES
from bench.nexmark.write import as_text
from bench.peers.deal import READERS, deal


def test_events_are_dealt_out_in_turn_and_keep_their_order(tmp_path: Path):
    options = Options(23_000, rate=1_000, disorder=2_000_000)
    deal(options, tmp_path)
    whole = Generator(options).slice(0, options.events)
    for kind in KINDS:
        text = as_text(whole[kind])
        rows = [line for frame in text.iter_slices(10_000) for line in frame.rows()]
        dealt = []
        for reader in range(READERS):
            path = tmp_path / kind / f"{reader}.csv"
            read = pl.read_csv(
                path, has_header=False, new_columns=list(COLUMNS[kind]), schema=text.schema
            )
            own = set(read.rows())
            assert read.rows() == [row for row in rows if row in own]
            dealt += read.rows()
        assert sorted(dealt) == sorted(rows)


def test_flink_has_every_query_but_the_sixth():
    names = {path.stem for path in (HERE.parent / "peers" / "flink").glob("*.sql")}
    assert names == {"sources", *QUERIES} - {"q6"}
