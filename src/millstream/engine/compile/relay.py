"""Opens the results of an operator that pass other operators as packets.

In a query with several outputs, an operator of one output group may read results that an earlier
group has computed. Spark's plan is a tree, so they reach it through the earlier group:

    operator ─▶ rows, and packets of the same rows ─▶ the group's outputs ─▶ opened ─▶ next group

Rows of outputs become packets on the way. Watermarks are in the statistics, which every operator
passes on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from millstream.engine.shuffle.column_names import (
    INPUTS,
    MAIN,
    ORIGIN,
    OUTPUT,
    OUTPUT_ROWS,
    PAYLOAD,
    RELAYED,
    ROW_KIND,
    output_column,
)
from millstream.engine.shuffle.format import MAX_RELAYED_ROWS, decode, encode

_PORTS = (ROW_KIND, ORIGIN, PAYLOAD)
Batches = Iterable[pa.RecordBatch]


def relayed_results(
    outputs: DataFrame, operator: int, schema: StructType, later: Collection[int]
) -> DataFrame:
    """Returns the results of an operator, with its `schema`, and all other rows as packets. `later`
    are the operators whose results a later group reads."""
    own = to_arrow_schema(schema, timezone="UTC")
    return outputs.mapInArrow(relay_function(operator, own, frozenset(later)), schema)


def relay_function(
    operator: int, schema: pa.Schema, later: frozenset[int]
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Returns the function that `mapInArrow` runs."""
    still_read = pa.array([each * INPUTS for each in later], pa.int32())

    def opened(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            is_main = pc.equal(batch.column(ROW_KIND), MAIN)
            packets = batch.filter(pc.invert(is_main)).select(_PORTS)
            is_relayed = pc.equal(packets.column(ROW_KIND), RELAYED)
            origin = packets.column(ORIGIN)
            keeps = pc.or_(pc.invert(is_relayed), pc.is_in(origin, value_set=still_read))
            yield _with_columns(packets.filter(keeps), schema)
            own = packets.filter(pc.and_(is_relayed, pc.equal(origin, operator * INPUTS)))
            for payload in own.column(PAYLOAD).to_pylist():
                yield from _results(decode(payload), schema)
            rows = batch.filter(is_main)
            for number in pc.unique(rows.column(OUTPUT)).to_pylist():
                yield _with_columns(_written(rows, number), schema)

    return opened


def _with_columns(packets: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        packets.column(each.name) if each.name in _PORTS else pa.nulls(len(packets), each.type)
        for each in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _results(rows: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    ports = {
        ROW_KIND: pa.repeat(pa.scalar(MAIN, pa.int8()), len(rows)),
        ORIGIN: pa.nulls(len(rows), pa.int32()),
        PAYLOAD: pa.nulls(len(rows), pa.binary()),
    }
    columns = [ports[each.name] if each.name in ports else rows[each.name] for each in schema]
    yield from pa.table(columns, names=schema.names).cast(schema).to_batches()


def _written(rows: pa.RecordBatch, number: int) -> pa.RecordBatch:
    """The rows of an output as packets."""
    values = rows.filter(pc.equal(rows.column(OUTPUT), number)).column(output_column(number))
    blobs = [
        encode(pa.Table.from_batches([pa.RecordBatch.from_struct_array(part)]))
        for start in range(0, len(values), MAX_RELAYED_ROWS)
        for part in [values.slice(start, MAX_RELAYED_ROWS)]
    ]
    columns = {
        ROW_KIND: pa.array([OUTPUT_ROWS] * len(blobs), pa.int8()),
        ORIGIN: pa.array([number] * len(blobs), pa.int32()),
        PAYLOAD: pa.array(blobs, pa.binary()),
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
