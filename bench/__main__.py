"""`make bench`: the interval join against Spark's own, small enough to wait for."""

from __future__ import annotations

import sys

from bench import interval_join
from bench.show import show

result = interval_join.run(
    400_000,
    ("inner",),
    interval_join.ENGINES,
    ("throughput", "small"),
    lambda line: print(line, file=sys.stderr, flush=True),
)
show(result)
