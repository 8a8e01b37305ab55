"""The fates of rows: what became of each input row of an operator.

in + copies = accepted + late + duplicate + filtered + … (all of REJECTED)
accepted    = in_state + processed + expired + evicted      (operators with state)

The values are the names in the ledger's JSON; in its text form they have spaces.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Fate(StrEnum):
    definition: str

    def __new__(cls, value: str, definition: str) -> Self:
        fate = str.__new__(cls, value)
        fate._value_ = value
        fate.definition = definition
        return fate

    IN = "in", "Rows read from the source, or emitted by the operator that is the input."
    COPIES = (
        "copies",
        (
            "Extra copies of rows: sent to several key groups by a salted join, or read by more "
            "than one output without an operator."
        ),
    )
    ACCEPTED = "accepted", "Rows that the operator processed: they could match or be aggregated."
    IN_STATE = "in_state", "Accepted rows that are in state now."
    PROCESSED = (
        "processed",
        "Accepted rows whose results are complete, such as rows of a closed window.",
    )
    EXPIRED = (
        "expired",
        (
            "Accepted rows that left state because the watermark passed the end of their "
            "retention, or the input ended; matched or not."
        ),
    )
    EVICTED = "evicted", "Accepted rows removed from state by a limit, such as `state.max_rows`."
    LATE = "late", "Rows behind the watermark, dropped or written to a side output."
    DUPLICATE = "duplicate", "Rows that a deduplication drops because it has seen their key."
    FILTERED = "filtered", "Rows for which WHERE is not true, or an inner table join finds nothing."
    UNMATCHED_PREDICATE = (
        "unmatched_predicate",
        "Rows that can match nothing because an ON predicate over their own columns is not true.",
    )
    MISSING_EVENT_TIME = (
        "missing_event_time",
        "Rows without an event time, skipped by `'event.missing' = 'skip'`.",
    )
    MISSING_KEY = (
        "missing_key",
        (
            "Rows dropped because their join key is NULL. On the preserved side of an outer join "
            "such rows are emitted as unmatched and count as `processed`."
        ),
    )
    LOOKUP_FAILED = (
        "lookup_failed",
        "Rows whose lookup failed, written to the dead-letter queue.",
    )
    MALFORMED = (
        "malformed",
        "Malformed records and unreadable files, written to the dead-letter queue.",
    )
    AHEAD_OF_TIME = (
        "ahead_of_time",
        "Rows too far ahead of processing time, written to the dead-letter queue.",
    )
    REASSIGNED = (
        "reassigned",
        "Late rows that were accepted with the watermark as their event time; part of `accepted`.",
    )

    @property
    def label(self) -> str:
        """The name in the ledger's text form."""
        return self.value.replace("_", " ")


# The fates of accepted rows, and of rows that are not accepted.
ACCEPTED = (Fate.IN_STATE, Fate.PROCESSED, Fate.EXPIRED, Fate.EVICTED)
REJECTED = (
    Fate.LATE,
    Fate.DUPLICATE,
    Fate.FILTERED,
    Fate.UNMATCHED_PREDICATE,
    Fate.MISSING_EVENT_TIME,
    Fate.MISSING_KEY,
    Fate.LOOKUP_FAILED,
    Fate.MALFORMED,
    Fate.AHEAD_OF_TIME,
)
