"""Everything that depends on PySpark's internals; docs/notes/pyspark-internals.md lists them.

Code outside this folder uses PySpark's public API only.
"""
