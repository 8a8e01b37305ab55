"""Apache Iceberg tables of a catalog, through the package `pyiceberg`."""
