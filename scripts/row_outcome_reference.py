"""Writes docs/reference/row-outcomes.md from the definitions of row outcomes.

python -m scripts.row_outcome_reference
"""

from __future__ import annotations

from pathlib import Path

from millstream.row_outcomes import RowOutcome

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "row-outcomes.md"
HEAD = """# Row outcomes

The [ledger](../13-running-jobs.md#the-ledger) counts the input rows of every operator by these
outcomes. The names are the same in the ledger's JSON and, with spaces, in its text.

This page is generated: `python -m scripts.row_outcome_reference`.

| outcome | rows |
|---|---|
"""


def row_outcome_reference() -> str:
    """Returns the reference page."""
    return HEAD + "".join(f"| `{each.value}` | {each.definition} |\n" for each in RowOutcome)


if __name__ == "__main__":
    PAGE.write_text(row_outcome_reference(), encoding="utf-8")
    print(f"wrote {PAGE}")
