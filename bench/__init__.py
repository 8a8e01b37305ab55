"""Benchmarks: peers side by side in one run, each in a process of its own, on the same files."""
