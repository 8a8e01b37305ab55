"""Messages of pgoutput decode to the changes that they encode, however they are split."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.postgresql import pgoutput_encoder as encoder
from tests.connectors.postgresql.pgoutput_encoder import UNCHANGED

from millstream.connectors.postgresql.pgoutput import (
    ChangeDecoder,
    MissingOldRowError,
    TruncatedError,
)

OIDS = {16_400: ("public", "orders"), 3_000_000_000: ("public", "others")}
COLUMNS = ("id", "note", "größe")
NAMES = ("+I", "-U", "+U", "-D")
TEXTS = st.one_of(st.none(), st.text(st.characters(blacklist_characters="\0"), max_size=6))
ROWS = st.tuples(st.integers(0, 3).map(str), TEXTS, TEXTS)
KINDS = st.sampled_from(["insert", "update", "delete", "relation"])


@dataclass(frozen=True, slots=True)
class Change:
    kind: str
    oid: int
    old: tuple[str | None, ...]
    new: tuple[str | None, ...]
    unchanged: frozenset[int]  # columns that the update does not send

    def message(self) -> bytes:
        if self.kind == "insert":
            return encoder.insert(self.oid, self.new)
        if self.kind == "delete":
            return encoder.delete(self.oid, self.old)
        if self.kind == "relation":
            return encoder.relation(self.oid, *OIDS[self.oid], COLUMNS)
        sent = [
            UNCHANGED if number in self.unchanged else value
            for number, value in enumerate(self.new)
        ]
        return encoder.update(self.oid, self.old, sent)

    def rows(self) -> list[tuple[str, tuple[str | None, ...]]]:
        """What the change means, in plain Python."""
        if OIDS[self.oid][1] != "orders" or self.kind == "relation":
            return []
        if self.kind == "insert":
            return [("+I", self.new)]
        if self.kind == "delete":
            return [("-D", self.old)]
        pairs = zip(self.old, self.new, strict=True)
        new = tuple(
            before if number in self.unchanged else after
            for number, (before, after) in enumerate(pairs)
        )
        moved = new[0] != self.old[0]
        return [("-D" if moved else "-U", self.old), ("+I" if moved else "+U", new)]


CHANGES = st.builds(
    Change, KINDS, st.sampled_from(list(OIDS)), ROWS, ROWS, st.frozensets(st.integers(0, 2))
)
TRANSACTIONS = st.lists(st.lists(CHANGES, max_size=6), max_size=6)


@given(TRANSACTIONS, st.integers(1, 7), st.integers(0, 60), st.integers(0, 60))
def test_changes_are_those_of_the_transactions_in_the_range(
    transactions: list[list[Change]], block: int, start: int, length: int
) -> None:
    first = [encoder.relation(oid, *names, COLUMNS) for oid, names in OIDS.items()]
    messages, expected = [], []
    for number, changes in enumerate(transactions):
        lsn, time, xid = 10 * number + 5, 1_767_225_600_000_000 + number, 4_000_000_000 + number
        messages.append(encoder.begin(lsn, time, xid))
        messages += first if number == 0 else []
        messages += [change.message() for change in changes]
        messages.append(encoder.commit(lsn, lsn + 4, time))
        if start <= lsn < start + length:
            rows = [row for change in changes for row in change.rows()]
            expected += [(op, row, lsn, time, xid) for op, row in rows]
    decoder = ChangeDecoder(16_400, ("id",), start, start + length)
    found = []
    for place in range(0, len(messages), block):
        for each in decoder.decode(messages[place : place + block]):
            assert each.relation.columns == COLUMNS
            values = zip(*(each.column(n).to_pylist() for n in range(3)), strict=True)
            ops = [NAMES[op] for op in each.ops]
            numbers = (each.lsns.tolist(), each.times.tolist(), each.xids.tolist())
            found += list(zip(ops, values, *numbers, strict=True))
    assert found == expected


def test_a_column_that_was_added_is_found_by_name() -> None:
    decoder = ChangeDecoder(1, ("id",), 0, 100)
    messages = [
        encoder.begin(1, 0, 1),
        encoder.relation(1, "public", "orders", ["id"]),
        encoder.insert(1, ["a"]),
        encoder.relation(1, "public", "orders", ["extra", "id"]),
        encoder.insert(1, ["x", "b"]),
    ]
    found = list(decoder.decode(messages))
    assert [each.relation.columns for each in found] == [("id",), ("extra", "id")]
    assert [each.column(each.relation.columns.index("id")).to_pylist() for each in found] == [
        ["a"],
        ["b"],
    ]


def test_an_update_without_the_old_row_is_an_error() -> None:
    decoder = ChangeDecoder(1, ("id",), 0, 100)
    first = [encoder.begin(1, 0, 1), encoder.relation(1, "public", "orders", ["id"])]
    with pytest.raises(MissingOldRowError):
        list(decoder.decode([*first, encoder.update_without_old_row(1, ["a"])]))


def test_a_truncated_table_is_an_error_unless_it_is_ignored_or_another_one() -> None:
    first = [
        encoder.begin(7, 0, 1),
        encoder.relation(1, "public", "orders", ["id"]),
        encoder.relation(2, "public", "others", ["id"]),
    ]
    with pytest.raises(TruncatedError) as raised:
        list(ChangeDecoder(1, ("id",), 0, 100).decode([*first, encoder.truncate(2, 1)]))
    assert raised.value.lsn == 7
    list(ChangeDecoder(1, ("id",), 0, 100).decode([*first, encoder.truncate(2)]))
    list(ChangeDecoder(1, ("id",), 8, 100).decode([*first, encoder.truncate(1)]))
    ignoring = ChangeDecoder(1, ("id",), 0, 100, ignores_truncate=True)
    assert list(ignoring.decode([*first, encoder.truncate(1)])) == []
