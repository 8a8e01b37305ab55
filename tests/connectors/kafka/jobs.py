"""Short texts of jobs that read and write topics."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tests.services.kafka import Kafka


def source(
    kafka: Kafka,
    topic: str,
    columns: str = "id STRING, n BIGINT",
    name: str = "rows",
    /,
    **more: str,
) -> str:
    """CREATE SOURCE; names of properties have _ for their points."""
    given = {"connector": "kafka", "bootstrap.servers": kafka.address, "topic": topic}
    given |= {_property(key): value for key, value in more.items()}
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    return f"CREATE SOURCE {name} ({columns}) WITH ({properties});\n"


def to_files(select: str) -> str:
    return f"CREATE SINK out WITH ('connector' = 'file', 'path' = 'out') AS\n{select};\n"


def numbered(first: int, end: int) -> list[str]:
    """Values with the ids `first` to before `end`."""
    return [json.dumps({"id": f"r{number}", "n": number}) for number in range(first, end)]


def ids(rows: Iterable[dict[str, object]]) -> list[int]:
    return sorted(int(str(row["n"])) for row in rows)


def to_topic(kafka: Kafka, topic: str, select: str, **more: str) -> str:
    """CREATE SINK; names of properties have _ for their points."""
    given = {"connector": "kafka", "bootstrap.servers": kafka.address, "topic": topic}
    given |= {_property(key): value for key, value in more.items()}
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    return f"CREATE SINK out WITH ({properties}) AS\n{select};\n"


def _property(name: str) -> str:
    return name if "." in name else name.replace("_", ".")
