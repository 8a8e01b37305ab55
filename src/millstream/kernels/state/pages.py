"""Bytes in a map state. Things written together that will go together share a page: one call."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.errors import StateError
from millstream.kernels.core.kernel import MapState
from millstream.kernels.state.manifest import Ref


class Pages:
    """Lives for one step; `used` are the pages that were in use when it began."""

    def __init__(self, store: MapState, used: set[int]) -> None:
        self._store = store
        self._used = used
        self._read: dict[int, memoryview] = {}

    def read(self, ref: Ref) -> memoryview:
        page = self._read.get(ref.page)
        if page is None:
            blob = self._store.get(ref.page)
            if blob is None:
                raise StateError(
                    "MS-STATE-LOST",
                    f"the state store has no page {ref.page}, which its manifest names.",
                    fix="The checkpoint is damaged: restore it from a copy, or start a new one.",
                )
            page = self._read[ref.page] = memoryview(blob)
        return page[ref.offset : ref.offset + ref.size]

    def write(self, bundles: Sequence[Sequence[bytes]], still_used: set[int]) -> list[list[Ref]]:
        """Writes every bundle as a page, first over pages that nothing uses any more: that saves
        the call to remove them."""
        free = sorted(self._used - still_used)
        beyond = max(self._used, default=-1) + 1
        refs = []
        for parts in bundles:
            if free:
                page = free.pop(0)
            else:
                page, beyond = beyond, beyond + 1
            self._store.put(page, parts[0] if len(parts) == 1 else b"".join(parts))
            self._read.pop(page, None)
            refs.append(_places(page, parts))
        for page in free:
            self._store.remove(page)
        return refs


def _places(page: int, parts: Sequence[bytes]) -> list[Ref]:
    places, offset = [], 0
    for part in parts:
        places.append(Ref(page, offset, len(part)))
        offset += len(part)
    return places
