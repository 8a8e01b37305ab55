"""Publishing: files become an immutable version of a dataset."""
