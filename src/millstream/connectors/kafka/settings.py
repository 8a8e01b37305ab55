"""Names of settings that a job passes to librdkafka, and of a column."""

from __future__ import annotations

PREFIX = "kafka."
OP = "_op"  # the kind of a change, as a column


def name_list(text: str) -> list[str]:
    """Returns the columns that a property such as 'key.columns' names."""
    return [name.strip() for name in text.split(",") if name.strip()]
