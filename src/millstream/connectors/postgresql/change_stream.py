"""Streams ranges of a replication slot: which transactions a micro-batch has.

The slot keeps changes until it is advanced, which happens when the batch that has read them is
committed. So a batch that is run again reads the same transactions.
"""

from __future__ import annotations

from typing import ClassVar

from millstream.connectors.postgresql.connect import Connection
from millstream.connectors.postgresql.slots import (
    advance_slot,
    check_slot,
    create_slot,
    lsn_of,
    lsn_text,
    quoted,
)
from millstream.connectors.postgresql.source_items import Item, ItemKind
from millstream.connectors.postgresql.source_streams import (
    ItemSource,
    ItemStream,
    Offset,
    StreamSettings,
    now_and_position,
)

# A change takes more bytes of the log, so a shorter piece need not be counted.
_BYTES_OF_CHANGE = 32
# Other tables' changes that are skipped by an empty batch, so that the server can delete them.
_SKIPPED = 16 << 20
_COUNT = """
SELECT count(*), max(lsn)::text FROM pg_logical_slot_peek_binary_changes(
  %s, %s::pg_lsn, %s, 'proto_version', '1', 'publication_names', %s)
"""


class ChangeStream(ItemStream):
    def __init__(self, settings: StreamSettings) -> None:
        super().__init__(settings)
        self._created: Offset = {}  # the offset of a new slot
        self._end: int | None = None  # what exists at the start, with the trigger once
        self._empty_until = -1  # no changes up to here
        self._advanced = -1

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        super().prepareForTriggerAvailableNow()
        self._end = self.session.run(_flushed)

    def next_offset(self, start: Offset, most: int | None) -> Offset:
        if not start:
            return self._create()
        if start["table"] != str(self.settings.oid):
            raise self.settings.target.table_error(
                f"the table {self.settings.table} was dropped and created again since the last "
                "batch",
                "Empty the sink and start with a new checkpoint.",
            )
        slot, begin = start["slot"], lsn_of(start["lsn"])
        self._advance(slot, begin)
        end = self.session.run(_flushed) if self._end is None else self._end
        if end <= max(begin, self._empty_until):
            return start
        is_limited = most is not None and end - begin > most * _BYTES_OF_CHANGE
        count, last = self._changes(slot, end, most if most and is_limited else 1)
        if not count:
            self._empty_until = end
            return start if end - begin < _SKIPPED else self._offset(slot, end)
        if most is not None and is_limited and count >= most:
            end = min(end, last)
        return self._offset(slot, end)

    def items(self, start: Offset, end: Offset) -> list[Item]:
        if not start:
            return [
                Item(
                    ItemKind.INITIAL,
                    end["lsn"],
                    slot=end["slot"],
                    snapshot=end["snapshot"],
                    lsn=lsn_of(end["lsn"]),
                    time=int(end["time"]),
                )
            ]
        self._check(start)
        return [Item(ItemKind.CHANGES, start["lsn"], end["lsn"], slot=end["slot"])]

    def _create(self) -> Offset:
        if not self._created:
            settings = self.settings
            slot = create_slot(
                settings.target, self.session, settings.slot, replace=settings.owns_slot
            )
            self._created = {
                **self.session.run(now_and_position),
                **self._offset(slot.name, slot.lsn),
                "snapshot": slot.snapshot,
            }
        return self._created

    def _offset(self, slot: str, lsn: int) -> Offset:
        return {"table": str(self.settings.oid), "slot": slot, "lsn": lsn_text(lsn)}

    def _advance(self, slot: str, lsn: int) -> None:
        """All batches before a position are committed."""
        if lsn > self._advanced:
            target = self.settings.target
            self.session.run(lambda connection: advance_slot(target, connection, slot, lsn))
            self._advanced = lsn

    def _check(self, start: Offset) -> None:
        target, slot, lsn = self.settings.target, start["slot"], lsn_of(start["lsn"])
        self.session.run(lambda connection: check_slot(target, connection, slot, lsn))

    def _changes(self, slot: str, end: int, most: int) -> tuple[int, int]:
        """Returns the number of messages of the next transactions, and where the last one ends.
        Transactions are counted until there are `most` messages."""
        parameters = [slot, lsn_text(end), most, quoted(self.settings.publication)]

        def query(connection: Connection) -> tuple[int, int]:
            row = connection.execute(_COUNT, parameters).fetchone()
            assert row is not None
            return int(row[0]), lsn_of(row[1]) if row[1] else 0

        return self.session.run(query)


def _flushed(connection: Connection) -> int:
    row = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
    assert row is not None
    return lsn_of(row[0])


class ChangeSource(ItemSource):
    called: ClassVar[str] = "millstream_postgresql_cdc"
    stream = ChangeStream
