"""Names that a query may not use are rejected before the job starts."""

from __future__ import annotations

import pytest

from millstream.errors import PlanError
from millstream.plan.build.job import build_job

SOURCE = """
CREATE SOURCE s (id BIGINT, {} BIGINT, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SINK late;
"""


def error(column: str, query: str) -> str:
    with pytest.raises(PlanError) as found:
        build_job(f"{SOURCE.format(column)}CREATE SINK o AS {query};")
    return str(found.value)


@pytest.mark.parametrize(
    ("column", "query"),
    [
        ("_ms_bad", "SELECT id FROM s"),
        ("x", "SELECT id AS _MS_keep FROM s"),
        ("x", "SELECT _ms_a.id FROM s _ms_a JOIN s b ON _ms_a.id = b.id AND _ms_a.t = b.t"),
    ],
    ids=["column of a source", "alias of a column", "alias of a stream"],
)
def test_names_with_the_prefix_of_generated_columns_are_rejected(column: str, query: str) -> None:
    text = error(column, query)
    assert text.startswith("MS-PLAN-RESERVED-NAME at line ")
    assert (
        "cannot be the name of a column or alias here. Names that begin with _ms_ are reserved. "
        "Give it another name with AS." in text
    )


def test_a_result_that_changes_has_no_column_op_of_its_own() -> None:
    text = error("_op", "SELECT _op, count(*) AS n FROM s GROUP BY _op WITH ('state.ttl' = '1h')")
    assert text == (
        "MS-PLAN-RESERVED-NAME at line 4, column 18: _op cannot be the name of a column or alias "
        "here. The engine adds a column _OP to results that change, so this name is reserved. "
        "Give it another name with AS."
    )


def test_late_rows_have_no_column_source_of_their_own() -> None:
    text = error(
        "_source",
        "SELECT DISTINCT id, _source FROM s WITH ('state.ttl' = '1h', "
        "'late.policy' = 'side_output', 'late.sink' = 'late')",
    )
    assert "The engine adds a column _source to late rows, so this name is reserved." in text


def test_other_names_that_the_engine_uses_are_free() -> None:
    names = ("s0", "_t", "_g", "_now", "label", "kind", "_port", "_rank", "_spread")
    for name in names:
        query = f"SELECT {name}, count(*) AS n FROM s GROUP BY {name} WITH ('state.ttl' = '1h')"
        build_job(f"{SOURCE.format(name)}CREATE SINK o AS {query};")


def test_row_numbers_get_a_name_that_no_column_has() -> None:
    query = (
        "SELECT id FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY _rank ORDER BY id) <= 1 "
        "WITH ('state.ttl' = '1h')"
    )
    build_job(f"{SOURCE.format('_rank')}CREATE SINK o AS {query};")
