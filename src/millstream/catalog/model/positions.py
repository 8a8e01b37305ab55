"""Positions of a definition and its values in a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream.errors import Place


@dataclass(frozen=True, slots=True)
class Positions:
    """Where a definition begins, and where the value of each of its keys begins.

    For a value in quotes or a block (`on: |`), the position is that of its first character, so that
    an offset inside the text can be added. A definition that was made in Python has no positions.
    """

    start: Place | None = None
    values: Mapping[str, Place] = field(default_factory=dict, hash=False)

    def of(self, key: str) -> Place | None:
        """Returns the position of a key's value, or of the definition if it has no such key."""
        return self.values.get(key, self.start)


NO_POSITIONS = Positions()
