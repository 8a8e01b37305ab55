"""Lookups of database rows by key, with a cache, batches and retries. Does not use Spark."""
