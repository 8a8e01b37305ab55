"""A file is read once, by its path; a batch never planned leaves nothing behind."""

from __future__ import annotations

from collections import Counter

from tests.run.trial import Trial

from millstream.connectors.file.admission_log import AdmissionLog, Item

SELECT = """
CREATE SOURCE numbers (n INT) WITH ('connector' = 'file', 'path' = 'in/numbers', 'format' = 'csv',
  'max.files.per.batch' = '1');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT n FROM numbers;
"""


def test_rows_appended_to_a_file_and_a_file_repaired_under_its_name_are_not_read(spark, tmp_path):
    trial = Trial(spark, tmp_path, SELECT)
    trial.add("numbers", "1.csv", ["n", "1"])
    trial.once()
    with (tmp_path / "in/numbers/1.csv").open("a") as file:
        file.write("2\n")
    trial.add("numbers", "2.csv", ["n", "3"])
    trial.once()
    trial.add("numbers", "1.csv", ["n", "4"])
    trial.add("numbers", "1-repaired.csv", ["n", "5"])
    trial.once()
    assert trial.rows() == Counter([("1",), ("3",), ("5",)])


def test_after_a_kill_a_batch_has_no_more_files_than_its_limit(spark, tmp_path):
    trial = Trial(spark, tmp_path, SELECT)
    trial.add("numbers", "1.csv", ["n", "1"])
    trial.once()
    for number in (2, 3):
        trial.add("numbers", f"{number}.csv", ["n", str(number)])
    # Killed after the files of the next batch were recorded, before Spark logged the batch.
    log = AdmissionLog(tmp_path / "checkpoint/out/sources/numbers.sqlite")
    item = Item(f"{tmp_path}/in/numbers/3.csv", 0, None, 4, 1)
    assert log.admit(1, lambda _: ([item], None)) == 2
    trial.once()
    assert trial.rows() == Counter([("1",), ("2",), ("3",)])
    files = sorted(path.name for path in (tmp_path / "out").glob("*.csv"))
    assert files == ["000000-0.csv", "000001-0.csv", "000002-0.csv"]
    assert (tmp_path / "out/000001-0.csv").read_text() == "n\n3\n"
