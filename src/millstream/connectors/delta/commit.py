"""Commits a batch to a table: its files or changes, and its number, in one version of the table.

The number is the Delta transaction of the sink (`txn`: application and version). A batch whose
number is recorded is not committed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from millstream.connectors.delta.failures import described, table_name
from millstream.connectors.sink import BatchId
from millstream.errors import RunError

_ATTEMPTS = 10  # another program may commit at the same time


class BatchCommit:
    """Commits batches of one output."""

    def __init__(self, owner: str, path: str) -> None:
        self._owner = owner
        self._path = path
        self._table: DeltaTable | None = None
        self._id = ""

    def is_done(self, batch: BatchId) -> bool:
        """Whether an earlier attempt has committed the batch."""
        with described(self._owner, self._path):
            last = self._latest().transaction_version(batch.writer)
        if last is not None and last > batch.batch:
            raise RunError(
                "MS-RUN-DELTA-MARKER",
                f"{self._owner}: {self._path} contains batches up to {last} of this checkpoint, "
                f"which is at batch {batch.batch}: the checkpoint is older than the table.",
                fix="Use the latest checkpoint, or restore the table to the version of this one.",
            )
        return last == batch.batch

    def commit(
        self, batch: BatchId, change: Callable[[DeltaTable, CommitProperties], None]
    ) -> None:
        """Applies a change to the latest version, unless the batch has been committed."""
        number = [Transaction(batch.writer, batch.batch, int(time.time() * 1000))]
        made = CommitProperties(app_transactions=number, custom_metadata={"engine": "millstream"})
        with described(self._owner, self._path):
            for attempt in range(_ATTEMPTS):
                table = self._latest()
                if table.transaction_version(batch.writer) == batch.batch:
                    return
                try:
                    change(table, made)
                except CommitFailedError:
                    # A failed commit may have been written: read the table again.
                    self._table = None
                    if attempt == _ATTEMPTS - 1:
                        raise
                else:
                    return

    def _latest(self) -> DeltaTable:
        if self._table is None:
            self._table = DeltaTable(self._path)
            if self._id not in ("", str(self._table.metadata().id)):
                raise table_name(self._owner, self._path).error(
                    f"{self._path} was removed and created again while the job was running",
                    "Start with --fresh, or restore the table.",
                )
            self._id = str(self._table.metadata().id)
        else:
            self._table.update_incremental()
        return self._table


def add_files(files: Sequence[dict[str, Any]]) -> Callable[[DeltaTable, CommitProperties], None]:
    """Returns the change that adds data files, which the messages of tasks describe."""
    now = int(time.time() * 1000)
    actions: list[AddAction | RemoveAction] = [
        AddAction(each["path"], each["size"], each["partition"], now, True, each["stats"])
        for each in files
    ]

    def change(table: DeltaTable, made: CommitProperties) -> None:
        table.create_write_transaction(
            actions,
            "append",
            table.schema(),
            partition_by=table.metadata().partition_columns,
            commit_properties=made,
        )

    return change
