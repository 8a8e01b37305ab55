"""Writes rows to a topic: as they are, as an upsert log, or in Debezium's envelope."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, MapType, StringType, StructType

from millstream.connectors.file.csv_lines import LOCAL_PATTERN, ZONED_PATTERN
from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.markers import DONE, Marker
from millstream.connectors.kafka.schema_properties import FORMATS
from millstream.connectors.kafka.settings import name_list
from millstream.connectors.kafka.topics import Topic
from millstream.connectors.kafka.value_columns import OP, json_column, value_column
from millstream.connectors.kafka.writers import HEADERS, IS_UPSERT, KEY, VALUE, KafkaOpener
from millstream.connectors.sink import BatchId, Message
from millstream.errors import PlanError, RunError
from millstream.plan.nodes import SinkDef

if TYPE_CHECKING:
    from millstream.connectors.kafka.sink_schema import SinkSchema

_JSON = {
    "timestampFormat": ZONED_PATTERN,
    "timestampNTZFormat": LOCAL_PATTERN,
    "ignoreNullFields": "false",
}


class KafkaSink:
    stable_tasks: ClassVar[bool] = True

    def __init__(self, sink: SinkDef, client: Client, schema: SinkSchema | None = None) -> None:
        self._sink = sink
        self._topic = sink.option("topic")
        self._client = client
        self._exactly_once = sink.option("delivery", "exactly_once") == "exactly_once"
        self._marker: Marker | None = None
        self._schema = schema

    @classmethod
    def opened(cls, sink: SinkDef, base: Path) -> KafkaSink:
        client = Client.of("sink", sink, base)
        # Errors of the cluster are known before the job starts.
        Topic(client, sink.option("topic"), client.connect).describe()
        if sink.option("format").lower() not in FORMATS:
            return cls(sink, client)
        from millstream.connectors.kafka.sink_schema import SinkSchema  # JSON needs no packages

        return cls(sink, client, SinkSchema.of(sink, base))

    def projection(self, schema: StructType, *, ansi: bool = True) -> dict[str, Column]:  # noqa: ARG002
        """Key, value and headers, which Spark computes of a query's rows."""
        headers = self._sink.option("headers.column")
        known = {field.name.lower(): field for field in schema}
        beside = {headers.lower(), OP.lower()}
        columns = [F.col(_quoted(each.name)) for each in schema if each.name.lower() not in beside]
        form: dict[str, bool] = {
            "changes": OP.lower() in known,
            "upsert": self._sink.option("changelog", "upsert").lower() == "upsert",
        }
        if self._schema is None:
            made = {VALUE: json_column(columns, _JSON, **form)}
        else:
            own = StructType([each for each in schema if each.name.lower() not in beside])
            made = {VALUE: value_column(columns, **form)}
            self._schema.check(own, **form)
        if keys := name_list(self._sink.option("key.columns")):
            made[KEY] = _key([known[name.lower()].name for name in keys], schema)
            if form["changes"]:
                made[IS_UPSERT] = F.lit(form["upsert"])
        if headers:
            field = known[headers.lower()]
            _check_headers(self._sink, field.name, field.dataType)
            made[HEADERS] = F.col(_quoted(field.name))
        return made

    def begin(self, batch: BatchId) -> KafkaOpener:
        if self._exactly_once and self._marker is None:
            self._marker = Marker(self._client, self._topic, batch.writer, DONE)
            self._check_marker(batch)
        encoders = None if self._schema is None else self._schema.encoders()
        keys = self._sink.option("key.columns")
        return KafkaOpener(self._client, self._topic, self._exactly_once, encoders, keys)

    def _check_marker(self, batch: BatchId) -> None:
        """Rejects a batch of which nobody can say whether an earlier run has written it."""
        assert self._marker is not None
        known = batch.batch == 0 or self._marker.next_batch() is not None
        if not known and self._sink.option("on.expired.marker", "fail") == "fail":
            raise RunError(
                "MS-RUN-KAFKA-MARKER",
                f"sink {self._sink.name}: whether batch {batch.batch} was written to {self._topic} "
                "is not known: the brokers have deleted the markers of this job, as they do after "
                "a week without a batch (offsets.retention.minutes).",
                fix="If the last run ended normally (it printed the ledger, not an error), or the "
                "topic is new, set 'on.expired.marker' = 'write' for this run. Otherwise compare "
                "the end of the topic with the batch.",
            )

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:  # noqa: ARG002
        if self._marker is not None:
            self._marker.commit(batch.batch)

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None: ...


def _key(names: list[str], schema: StructType) -> Column:
    """One column as text, or its bytes; several as JSON."""
    if len(names) > 1:
        return F.to_json(F.struct(*(F.col(_quoted(name)) for name in names)), _JSON)
    column = F.col(_quoted(names[0]))
    return column if isinstance(schema[names[0]].dataType, BinaryType) else column.cast("string")


def _check_headers(sink: SinkDef, name: str, kind: DataType) -> None:
    valid = isinstance(kind, MapType) and isinstance(kind.keyType, StringType)
    if not valid or not isinstance(kind.valueType, StringType | BinaryType):  # type: ignore[attr-defined]
        raise PlanError(
            "MS-PLAN-SINK-TYPE",
            f"the headers of sink {sink.name} are in column {name}, which has the type "
            f"{kind.simpleString()}.",
            fix="Make it MAP<STRING, BINARY> or MAP<STRING, STRING>.",
            place=sink.place,
        )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
