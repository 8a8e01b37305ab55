# ruff: noqa: B018, T201 -- a notebook shows the last expression of a cell
"""What a new user writes: a default session, a join, an aggregate. `# %%` begins a cell."""

# %%
import json
import tempfile
from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession

import millstream as ms

spark = SparkSession.builder.getOrCreate()
folder = Path(tempfile.mkdtemp())


def read(name, columns, rows):
    (folder / name).mkdir()
    (folder / name / "rows.json").write_text("\n".join(map(json.dumps, rows)))
    return spark.readStream.schema(f"{columns}, t timestamp").json(str(folder / name))


orders = read(
    "orders",
    "id string, amount double",
    [
        {"id": "A", "amount": 2.5, "t": "2026-01-15T10:00:00Z"},
        {"id": "B", "amount": 3.5, "t": "2026-01-15T10:30:00Z"},
    ],
)
shipments = read(
    "shipments",
    "id string, carrier string",
    [{"id": "A", "carrier": "ups", "t": "2026-01-15T11:00:00Z"}],
)

# %%
shipped = ms.stream(orders, time="t", delay=timedelta(seconds=5), name="orders").interval_join(
    shipments.withWatermark("t", "5 seconds"), on="id", lower="0s", upper="24h", how="left"
)
shipped

# %%
hourly = shipped.window(ms.tumbling("1 hour")).aggregate(by="carrier", total="sum(amount)")
hourly.explain()

# %%
run = hourly.write(folder / "out", checkpoint=folder / "checkpoint", flush=True)
run.wait()
run

# %%
run.ledger

# %%
rows = sorted(
    (row.carrier or "", row.total) for row in spark.read.json(str(folder / "out")).collect()
)
print(rows)
