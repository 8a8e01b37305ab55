"""Names of settings that a job passes to librdkafka, and of a column."""

from __future__ import annotations

from dataclasses import replace

from millstream.errors import Place

PREFIX = "kafka."
# Settings that delivery and offsets depend on, so a job cannot set them.
OWN = (
    *("group.id", "enable.auto.commit", "auto.offset.reset", "isolation.level"),
    *("enable.idempotence", "transactional.id", "enable.partition.eof", "acks"),
)
OP = "_op"  # the kind of a change, as a column


def name_list(text: str) -> list[str]:
    """Returns the columns that a property such as 'key.columns' names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def without_excerpt(place: Place) -> Place:
    """Returns a position whose line is not printed, because it has a secret."""
    return replace(place, text="")
