"""Spark starts this module as the parent of its Python workers (`spark.python.daemon.module`).

Workers are forked from it, so modules imported here are available in each of them without delay;
otherwise the first micro-batch would take seconds longer. It only imports: a thread that is started
before a fork is lost.
"""

import gc
import os

if __name__ == "__main__":
    gc.disable()  # during imports, where collections find nothing and took a tenth of the time
    # Workers share the cores of a machine; Polars would start a thread per core in each.
    os.environ.setdefault("POLARS_MAX_THREADS", os.environ.get("MILLSTREAM_WORKER_THREADS", "1"))

    import pandas as pd  # noqa: F401
    import polars as pl  # noqa: F401
    import pyarrow as pa  # noqa: F401
    import pyarrow.parquet as pq  # noqa: F401

    from millstream.engine.runtime import daemon

    daemon.start()

    from millstream.kernels.state import segment_cache as cache
    from millstream.kernels.state.cache_sizes import CacheSizes

    cache.share_budget(CacheSizes.open(os.environ.get("MILLSTREAM_CACHE_SIZES")))
    daemon.serve()
