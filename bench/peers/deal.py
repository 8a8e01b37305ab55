"""The same events for two readers that run side by side: two CSV files of each kind, to which
events are dealt out in turn, so that both advance in time together."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from bench.nexmark.events import KINDS, Generator
from bench.nexmark.options import Options
from bench.nexmark.write import as_text, side_input

READERS = 2
_TURN = 5_000  # events


def deal(options: Options, folder: Path) -> None:
    generator = Generator(options)
    with ExitStack() as stack:
        files = {}
        for kind in KINDS:
            (folder / kind).mkdir(parents=True)
            files[kind] = [
                stack.enter_context((folder / kind / f"{reader}.csv").open("wb"))
                for reader in range(READERS)
            ]
        for turn, start in enumerate(range(0, options.events, _TURN)):
            made = generator.slice(start, min(start + _TURN, options.events))
            for kind, frame in made.items():
                as_text(frame).write_csv(files[kind][turn % READERS], include_header=False)
    (folder / "side_input").mkdir()
    side_input().write_csv(folder / "side_input" / "0.csv", include_header=False)
