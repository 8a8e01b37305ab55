"""Verifies that the files of a snapshot are those that were recorded."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.catalog.model import DatasetSnapshot, ResolverSnapshot, VersionFile
from millstream.errors import ProjectRunError


def datasets_of(snapshot: ResolverSnapshot) -> Iterator[DatasetSnapshot]:
    """Returns the input and the dataset of each join."""
    yield snapshot.input
    yield from snapshot.join_datasets
