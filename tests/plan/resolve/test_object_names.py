"""Names that become folders cannot leave the checkpoint."""

from __future__ import annotations

import pytest

from millstream.errors import PlanError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Column, Source

SOURCE = "CREATE SOURCE a (k STRING);\n"
SINK = "CREATE SINK out WITH ('connector' = 'console') AS SELECT k FROM a;\n"
STATEMENTS = {
    "source": f"{SOURCE}{SINK}CREATE SOURCE `§` (k STRING);",
    "table": f"{SOURCE}{SINK}CREATE TABLE `§` (k STRING) "
    "WITH ('connector' = 'file', 'path' = 'x');",
    "stream": f"{SOURCE}{SINK}CREATE STREAM `§` AS SELECT k FROM a;",
    "sink": f"{SOURCE}\nCREATE SINK `§` WITH ('connector' = 'console') AS SELECT k FROM a;",
}
UNSAFE = [
    *(
        "../victim",
        "..",
        ".",
        "/tmp/victim",
        "a/b",
        "a\\b",
        "a\nb",
        ".hidden",
        "a:b",
        "a*",
        "a%2Fb",
    ),
    *(" a", "a ", "a.", "{a}", "k=v", "~", "x" * 201),
]
FIX = "Use letters, digits, _, -, and inside the name also . and blanks."


@pytest.mark.parametrize("kind", STATEMENTS)
@pytest.mark.parametrize("name", UNSAFE)
def test_a_name_that_is_no_safe_folder_is_rejected(kind: str, name: str) -> None:
    with pytest.raises(PlanError) as caught:
        build_job(STATEMENTS[kind].replace("§", name))
    error = caught.value
    assert (error.code, error.fix) == ("MS-PLAN-NAME", FIX)
    assert f"of a {kind} " in error.cause
    assert error.place is not None
    assert error.place.line == 3


@pytest.mark.parametrize("kind", STATEMENTS)
@pytest.mark.parametrize("name", ["b", "B2", "_b", "größe", "b-1", "b 1", "b.1", "x" * 200])
def test_other_names_are_accepted(kind: str, name: str) -> None:
    assert build_job(STATEMENTS[kind].replace("§", name)).pipelines


@pytest.mark.parametrize("name", ["reference-tables", "Lock", "spark.log"])
def test_a_sink_is_not_called_like_another_part_of_the_checkpoint(name: str) -> None:
    with pytest.raises(PlanError, match="is reserved: a checkpoint contains") as caught:
        build_job(STATEMENTS["sink"].replace("§", name))
    assert caught.value.code == "MS-PLAN-NAME"


def test_sources_given_by_a_caller_are_checked_as_well() -> None:
    given = {"../victim": Source("../victim", (Column("k", "STRING"),))}
    with pytest.raises(PlanError, match=r"the name '\.\./victim' of a source contains"):
        build_job(SOURCE + SINK, sources=given)
