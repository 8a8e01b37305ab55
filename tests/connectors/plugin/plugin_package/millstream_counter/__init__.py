"""A package that adds connectors to Millstream: `counter`, a source, and `tsv`, a sink."""
