"""One text for types that differ only in spacing, case and synonyms."""

from __future__ import annotations

import pytest

from millstream.sql.normal_type import normal_type


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("DECIMAL(10, 2)", "decimal(10,2)"),
        ("INTEGER", "int"),
        ("ARRAY<LONG>", "array<bigint>"),
        ("STRUCT<long: TEXT, x: INT>", "struct<long:string,x:int>"),
        ("STRUCT<`My Field`: INT COMMENT 'Of It'>", "struct<`My Field`:int comment'Of It'>"),
        ("TIMESTAMP_LTZ", "timestamp"),
    ],
)
def test_types_have_sparks_names(text: str, normal: str) -> None:
    assert normal_type(text) == normal
    assert normal_type(normal) == normal
