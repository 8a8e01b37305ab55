"""The parent of Python workers, with a PySpark that lacks an internal."""

import runpy

if __name__ == "__main__":
    import pyspark.worker

    del pyspark.worker.main
    runpy.run_module("millstream.engine.worker", run_name="__main__")
