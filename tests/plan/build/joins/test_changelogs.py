"""A column `_OP` makes the versions of an as-of join a changelog."""

from __future__ import annotations

import pytest

from millstream.errors import PlanError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Select, TemporalJoin

JOB = """
CREATE SOURCE orders (id STRING, k STRING, t TIMESTAMP, WATERMARK FOR t AS t);
{} rates (k STRING, {}, v TIMESTAMP, {} WATERMARK FOR v AS v) {};
CREATE SINK o AS SELECT o.id FROM orders o
  LEFT JOIN rates FOR SYSTEM_TIME AS OF o.t AS r ON o.k = r.k;
"""


def join(kind: str, column: str, properties: str = "") -> TemporalJoin:
    key = "PRIMARY KEY (k)," if kind == "CREATE TABLE" else ""
    found = build_job(JOB.format(kind, column, key, properties)).pipelines[0].root.input
    assert isinstance(found, TemporalJoin)
    return found


@pytest.mark.parametrize("kind", ["CREATE TABLE", "CREATE SOURCE"])
def test_a_declared_op_column_is_sufficient(kind: str) -> None:
    found = join(kind, "_OP STRING")
    assert str(found.deletes) == "r._OP <=> '-D'"
    assert isinstance(found.right.node, Select)
    assert str(found.right.node.where) == "NOT r._OP <=> '-U'"


def test_the_property_names_another_column() -> None:
    found = join("CREATE TABLE", "_OP STRING, what STRING", "WITH ('changelog.op' = 'what')")
    assert str(found.deletes) == "r.what <=> '-D'"


def test_without_such_a_column_every_row_is_a_version() -> None:
    found = join("CREATE TABLE", "op STRING")
    assert found.deletes is None


def test_kinds_of_changes_must_be_strings() -> None:
    with pytest.raises(PlanError) as error:
        join("CREATE TABLE", "_op INT")
    assert str(error.value) == (
        "MS-PLAN-CHANGELOG at line 5, column 13: rates._op is INT, and the kinds of changes (+I, "
        "-U, +U, -D) are strings. Declare _op STRING, or rename the column."
    )
