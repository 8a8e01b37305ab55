"""Definitions as code: YAML files, the changes that they make, and their export."""
