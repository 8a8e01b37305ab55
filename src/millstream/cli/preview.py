"""Shows the first rows that a run wrote to a sink."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from rich.table import Table
from rich.text import Text

from millstream.connectors.protocols import SinkOutput

SHOWN = 20


def preview(output: SinkOutput | None, names: Sequence[str], first_batch: int) -> Table | None:
    """Returns a table of the first rows from `first_batch` on; None if there are none."""
    rows = list(islice(output.rows(names, first_batch), SHOWN + 1)) if output else []
    if not rows:
        return None
    more = f"the first {SHOWN} rows" if len(rows) > SHOWN else None
    table = Table(caption=more, caption_justify="left")
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows[:SHOWN]:
        table.add_row(*map(Text, row))  # values may look like markup
    return table
