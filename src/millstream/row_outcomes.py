"""Row outcomes: what an operator did with each of its input rows.

in + copies = accepted + late + duplicate + filtered + … (see REJECTED_OUTCOMES)
accepted    = in_state + processed + expired + evicted      (operators with state)

The values are keys in the ledger's JSON. The ledger's text form shows them with spaces.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class RowOutcome(StrEnum):
    """What happened to a row. Each value has a definition, which the documentation repeats."""

    definition: str

    def __new__(cls, value: str, definition: str) -> Self:
        outcome = str.__new__(cls, value)
        outcome._value_ = value
        outcome.definition = definition
        return outcome

    IN = "in", "Rows read from the source, or emitted by the operator that is the input."
    COPIES = (
        "copies",
        (
            "Extra copies of rows: sent to several key groups by a salted join, or read by more "
            "than one output without an operator."
        ),
    )
    ACCEPTED = "accepted", "Rows that the operator took in: they could match or be aggregated."
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
    FAILED_PREDICATE = (
        "failed_predicate",
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
    FAILED_EXPRESSION = (
        "failed_expression",
        (
            "Rows for which an expression failed, written to the dead-letter queue "
            "(`'on.error' = 'dead_letter'`)."
        ),
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


# Every accepted row has one of ACCEPTED_OUTCOMES, every other row one of REJECTED_OUTCOMES.
ACCEPTED_OUTCOMES = (
    RowOutcome.IN_STATE,
    RowOutcome.PROCESSED,
    RowOutcome.EXPIRED,
    RowOutcome.EVICTED,
)
REJECTED_OUTCOMES = (
    RowOutcome.LATE,
    RowOutcome.DUPLICATE,
    RowOutcome.FILTERED,
    RowOutcome.FAILED_PREDICATE,
    RowOutcome.MISSING_EVENT_TIME,
    RowOutcome.MISSING_KEY,
    RowOutcome.LOOKUP_FAILED,
    RowOutcome.MALFORMED,
    RowOutcome.FAILED_EXPRESSION,
    RowOutcome.AHEAD_OF_TIME,
)
