"""Fuzzers: random texts, random pipelines, random kills. `make fuzz` runs them: CONTRIBUTING.md.

A case depends only on its seed, so `--replay SEED` reproduces a finding.
"""
