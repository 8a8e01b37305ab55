"""Only one folder depends on PySpark's internals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOME = ROOT / "src/millstream/engine/runtime"
PRIVATE = {
    "Java objects behind Python ones": (
        r"(?<!self)\._j[a-z]|\b_j(?:c|conf|df|dfs|map|rdd|sc|seq|sparkSession|sq|vm)\b|\b_gateway\b"
    ),
    "private attributes of sessions and contexts": (
        r"[sS]parkContext\._|SparkSession\._|\bspark\._|\bcontext\._[a-z]"
    ),
    "private names of PySpark": (
        r"from pyspark[\w.]* import .*(?<![\w.])_\w+|import pyspark[\w.]*\._"
    ),
    "modules that are no API": (
        r"pyspark\.(?:daemon|worker|worker_util|serializers|java_gateway|find_spark_home|util"
        r"|sql\.conversion|sql\.classic|sql\.pandas\.(?:serializers|utils|conversion)"
        r"|sql\.streaming\.(?:proto|stateful_processor_api_client|stateful_processor_util))\b"
        r"|py4j\.(?:java_gateway|clientserver|java_collections)\b"
        r"|from pyspark import .*\b(?:accumulators|daemon|worker|java_gateway)\b"
    ),
}
FILES = sorted(
    file
    for folder in ("src", "bench", "examples", "scripts")
    for file in (ROOT / folder).rglob("*.py")
    if not file.is_relative_to(HOME)
)


@pytest.mark.parametrize("pattern", PRIVATE.values(), ids=PRIVATE)
def test_no_other_folder_uses(pattern):
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in FILES
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert found == []


@pytest.mark.parametrize("pattern", PRIVATE.values(), ids=PRIVATE)
def test_the_search_finds_such_uses_in_the_folder_itself(pattern):
    assert any(re.search(pattern, file.read_text(encoding="utf-8")) for file in HOME.glob("*.py"))
