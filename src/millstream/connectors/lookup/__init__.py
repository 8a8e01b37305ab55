"""Tables that are asked key by key: a cache, questions in batches, retries. No Spark."""
