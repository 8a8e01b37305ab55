"""Changes of a table are read from a replication slot: each kind of change, and any retry."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.connectors.postgresql.sources import ENVIRONMENT, SourceTrial, create_orders
from tests.services.postgres import Postgres, postgres

from millstream.connectors.postgresql.slots import lsn_of
from millstream.connectors.postgresql.source_streams import Offset
from millstream.errors import RunError

__all__ = ["postgres"]
pytestmark = [pytest.mark.service, pytest.mark.timeout(300)]
CDC = {"mode": "cdc", "publication": "Mine"}


@pytest.fixture
def trial(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[SourceTrial]:
    monkeypatch.setenv(ENVIRONMENT, postgres.password)
    create_orders(postgres, "INSERT INTO orders VALUES (1, 'a'), (2, NULL), (3, '')")
    found = SourceTrial(postgres, CDC)
    yield found
    found.close()


def start(trial: SourceTrial) -> Offset:
    """Reads the first rows."""
    return trial.next({})


def changes(trial: SourceTrial, begin: Offset, *statements: str) -> list[tuple[Any, ...]]:
    trial.server.run(*statements)
    return trial.rows(begin, trial.next(begin))


def test_the_rows_of_the_table_precede_its_changes(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run("INSERT INTO orders VALUES (4, 'later')")
    assert sorted(trial.rows({}, begin)) == [("+I", 1, "a"), ("+I", 2, None), ("+I", 3, "")]
    assert trial.rows(begin, trial.next(begin)) == [("+I", 4, "later")]


def test_each_kind_of_change_has_its_rows(trial: SourceTrial) -> None:
    begin = start(trial)
    found = changes(
        trial,
        begin,
        "INSERT INTO orders VALUES (4, 'd')",
        "UPDATE orders SET note = 'A' WHERE id = 1",
        "UPDATE orders SET id = 20 WHERE id = 2",
        "DELETE FROM orders WHERE id = 3",
        "BEGIN; INSERT INTO orders VALUES (9, 'never'); ROLLBACK",
    )
    assert found == [
        ("+I", 4, "d"),
        *(("-U", 1, "a"), ("+U", 1, "A")),
        *(("-D", 2, None), ("+I", 20, None)),
        ("-D", 3, ""),
    ]


def test_changes_have_the_position_and_the_time_of_their_transaction(trial: SourceTrial) -> None:
    begin = start(trial)
    first = trial.rows({}, begin, "_offset", "_timestamp")
    assert {row[3] for row in first} == {lsn_of(begin["lsn"])}
    trial.server.run("BEGIN; INSERT INTO orders VALUES (4, ''); DELETE FROM orders; COMMIT")
    end = trial.next(begin)
    found = trial.rows(begin, end, "_offset", "_timestamp")
    assert len(found) == 5
    assert len({row[3:] for row in found}) == 1
    assert lsn_of(begin["lsn"]) <= found[0][3] < lsn_of(end["lsn"])
    assert found[0][4] > first[0][4]


def test_a_large_value_that_an_update_leaves_unchanged_is_read(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run(
        "ALTER TABLE orders ADD COLUMN number int DEFAULT 0, ALTER COLUMN note SET STORAGE EXTERNAL"
    )
    text = "x" * 100_000
    found = changes(
        trial,
        begin,
        "INSERT INTO orders VALUES (4, repeat('x', 100000))",
        "UPDATE orders SET number = 1 WHERE id = 4",
    )
    assert found == [("+I", 4, text), ("-U", 4, text), ("+U", 4, text)]


def test_a_batch_is_read_again_until_it_is_committed(trial: SourceTrial) -> None:
    begin = start(trial)
    first = changes(trial, begin, "INSERT INTO orders VALUES (4, 'd')")
    end = trial.next(begin)
    trial.server.run("INSERT INTO orders VALUES (5, 'e')")
    trial.restart()
    assert trial.rows(begin, end) == first == [("+I", 4, "d")]
    following = trial.next(end)  # now the first batch is committed
    assert trial.rows(end, following) == [("+I", 5, "e")]
    trial.restart()
    with pytest.raises(RunError, match=r"after .* of the checkpoint") as raised:
        trial.rows(begin, end)
    assert raised.value.code == "MS-RUN-POSTGRESQL-SLOT"


def test_batches_end_after_about_the_limit_and_do_not_split_transactions(
    trial: SourceTrial,
) -> None:
    begin = start(trial)
    for number in range(100, 400, 10):
        trial.server.run(
            f"INSERT INTO orders SELECT i FROM generate_series({number}, {number + 9}) i"
        )
    sizes, ids = [], []
    for first, last in trial.batches(begin, 40):
        rows = trial.rows(first, last)
        sizes.append(len(rows))
        ids += [row[1] for row in rows]
    assert ids == list(range(100, 400))
    assert max(sizes) <= 40
    assert all(size % 10 == 0 for size in sizes)


def test_the_first_rows_are_the_same_after_any_number_of_changes(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run(
        "INSERT INTO orders VALUES (4, 'new')",
        "UPDATE orders SET note = 'b' WHERE id = 1",
        "UPDATE orders SET note = 'c' WHERE id = 1",
        "UPDATE orders SET id = 5 WHERE id = 2",
        "DELETE FROM orders WHERE id = 3",
        "INSERT INTO orders VALUES (2, 'other'), (3, 'again')",
    )
    for _ in range(2):
        trial.restart()
        found = trial.rows({}, begin)
        assert sorted(found) == [("+I", 1, "a"), ("+I", 2, None), ("+I", 3, "")]


def test_rows_and_changes_are_complete_while_others_write(trial: SourceTrial) -> None:
    stop = threading.Event()

    def write(first: int) -> None:
        number = first
        with trial.server.connect() as connection:
            while not stop.is_set():
                with connection.transaction():
                    connection.execute("INSERT INTO orders VALUES (%s, 'x')", [number])
                    connection.execute(
                        "UPDATE orders SET note = note || 'y' WHERE id %% 7 = 1 AND id %% 3 = %s",
                        [first % 3],
                    )
                    connection.execute("DELETE FROM orders WHERE id = %s", [number - 6])
                number += 3

    writers = [threading.Thread(target=write, args=[first]) for first in (1000, 1001, 1002)]
    for each in writers:
        each.start()
    begin = start(trial)
    state: Counter[tuple[Any, ...]] = Counter()
    first = trial.rows({}, begin)
    again = trial.rows({}, begin)
    stop.set()
    for each in writers:
        each.join()
    assert Counter(first) == Counter(again)
    rows = [*first]
    for before, after in trial.batches(begin, 500):
        rows += trial.rows(before, after)
    for op, *row in rows:
        state[tuple(row)] += 1 if op in ("+I", "+U") else -1
        assert state[tuple(row)] in (0, 1)
    with trial.server.connect() as connection:
        expected = Counter(connection.execute("SELECT id, note FROM orders").fetchall())
    assert +state == expected
    assert len(rows) > 100


def test_the_slot_of_other_tables_changes_is_advanced_without_rows(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run("CREATE TABLE other (text text)")
    assert trial.next(begin) == begin
    trial.server.run("INSERT INTO other SELECT repeat('x', 1000) FROM generate_series(1, 20000)")
    end = trial.next(begin)
    assert end != begin
    assert trial.rows(begin, end) == []


def test_a_run_once_ends_with_what_exists_at_its_start(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run("INSERT INTO orders VALUES (4, 'd')")
    trial.restart()
    trial.stream.prepareForTriggerAvailableNow()
    trial.server.run("INSERT INTO orders VALUES (5, 'e')")
    end = trial.next(begin)
    assert trial.rows(begin, end) == [("+I", 4, "d")]
    assert trial.next(end) == end


def test_a_transaction_of_many_rows_is_read_in_blocks(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run("INSERT INTO orders SELECT i, 'text ' || i FROM generate_series(10, 70009) i")
    end = trial.next(begin, 1000)
    (task,) = trial.stream.partitions(begin, end)
    batches = list(trial.reader.read(task.item, trial.types))
    assert sum(batch.num_rows for batch in batches) == 70_000
    assert max(batch.num_rows for batch in batches) <= 20_000


def test_an_added_column_is_ignored_and_a_dropped_one_is_an_error(trial: SourceTrial) -> None:
    begin = start(trial)
    added = changes(
        trial,
        begin,
        "ALTER TABLE orders ADD COLUMN more int DEFAULT 7",
        "INSERT INTO orders VALUES (4, 'd', 8)",
    )
    assert added == [("+I", 4, "d")]
    end = trial.next(begin)
    trial.server.run("ALTER TABLE orders DROP COLUMN note", "INSERT INTO orders VALUES (5, 9)")
    with pytest.raises(RunError, match=r'column note of "public"."orders" was dropped') as raised:
        trial.rows(end, trial.next(end))
    assert raised.value.code == "MS-RUN-POSTGRESQL-TABLE"


def test_another_type_of_a_column_is_an_error(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run(
        "ALTER TABLE orders ALTER COLUMN id TYPE text", "INSERT INTO orders VALUES ('x', '')"
    )
    with pytest.raises(RunError, match="column id is text in the database") as raised:
        trial.rows(begin, trial.next(begin))
    assert raised.value.code == "MS-RUN-POSTGRESQL-TABLE"


def test_a_column_that_older_changes_lack_is_null(postgres: Postgres, trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run(
        "INSERT INTO orders VALUES (4, 'd')",
        "ALTER TABLE orders ADD COLUMN more text",
        "INSERT INTO orders VALUES (5, 'e', 'm')",
    )
    trial.types = {**trial.types, "more": trial.types["note"]}
    trial.restart()
    assert trial.rows(begin, trial.next(begin)) == [("+I", 4, "d", None), ("+I", 5, "e", "m")]


def test_a_renamed_table_is_read_and_one_that_is_created_again_is_an_error(
    trial: SourceTrial,
) -> None:
    begin = start(trial)
    renamed = changes(
        trial,
        begin,
        "ALTER TABLE orders RENAME TO purchases",
        "INSERT INTO purchases VALUES (4, 'd')",
    )
    assert renamed == [("+I", 4, "d")]
    trial.server.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, note text)",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        'ALTER PUBLICATION "Mine" ADD TABLE orders',
    )
    trial.restart()
    with pytest.raises(RunError, match="was dropped and created again") as raised:
        trial.next(begin)
    assert raised.value.code == "MS-RUN-POSTGRESQL-TABLE"


def test_rows_of_tables_that_inherit_are_not_read(trial: SourceTrial) -> None:
    trial.server.run(
        "CREATE TABLE more () INHERITS (orders)", "INSERT INTO more VALUES (4, 'inherited')"
    )
    begin = start(trial)
    assert sorted(row[1] for row in trial.rows({}, begin)) == [1, 2, 3]
    assert changes(trial, begin, "INSERT INTO more VALUES (5, 'x')") == []


def test_a_truncated_table_is_an_error_or_ignored(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run("INSERT INTO orders VALUES (4, 'd')", "TRUNCATE orders")
    end = trial.next(begin)
    with pytest.raises(RunError, match=r'"public"."orders" was truncated at') as raised:
        trial.rows(begin, end)
    assert raised.value.code == "MS-RUN-POSTGRESQL-TRUNCATE"
    trial.options = {**CDC, "on.truncate": "ignore"}
    trial.restart()
    assert trial.rows(begin, end) == [("+I", 4, "d")]


def test_changes_without_old_rows_are_an_error(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run(
        "ALTER TABLE orders REPLICA IDENTITY DEFAULT", "UPDATE orders SET note = '' WHERE id = 1"
    )
    with pytest.raises(RunError, match="does not have REPLICA IDENTITY FULL") as raised:
        trial.rows(begin, trial.next(begin))
    assert raised.value.code == "MS-RUN-POSTGRESQL-CDC"


def test_a_value_that_does_not_fit_names_its_column(trial: SourceTrial) -> None:
    trial.types = {"id": pa.int8(), "note": pa.string()}
    trial.restart()
    begin = start(trial)
    trial.server.run("INSERT INTO orders VALUES (1000, '')")
    with pytest.raises(RunError, match=r"column id .* has the value '1000'") as raised:
        trial.rows(begin, trial.next(begin))
    assert raised.value.code == "MS-RUN-POSTGRESQL-VALUE"


def test_a_server_that_restarts_is_waited_for(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.server.run("INSERT INTO orders SELECT i FROM generate_series(10, 60009) i")
    end = trial.next(begin)
    (task,) = trial.stream.partitions(begin, end)
    batches = trial.reader.read(task.item, trial.types)
    first = next(batches)
    trial.server.kill()
    trial.server.start()
    ids = [first, *batches]
    assert [id_ for batch in ids for id_ in batch["id"].to_pylist()] == list(range(10, 60010))
    assert trial.next(end) == end


def test_an_existing_slot_of_a_given_name_is_an_error(trial: SourceTrial) -> None:
    trial.options = {**CDC, "slot.name": "millstream_given"}
    trial.restart()
    begin = start(trial)
    assert begin["slot"] == "millstream_given"
    trial.restart()
    assert trial.next(begin) == begin
    with pytest.raises(RunError, match="slot millstream_given exists") as raised:
        trial.next({})
    assert raised.value.code == "MS-RUN-POSTGRESQL-SLOT"


def test_a_dropped_slot_is_an_error(trial: SourceTrial) -> None:
    begin = start(trial)
    trial.close()
    trial.restart()
    with pytest.raises(RunError, match="does not exist any more") as raised:
        trial.next(begin)
    assert raised.value.code == "MS-RUN-POSTGRESQL-SLOT"
