"""What connectors of table formats share: Parquet files whose names a log of versions lists."""
