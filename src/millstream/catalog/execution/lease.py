"""Keeps the lease of a run while it executes. If the process ends, the lease expires and the run
counts as failed."""

from __future__ import annotations

import os
import socket
import threading
from types import TracebackType
from typing import Self
from uuid import UUID, uuid4

from millstream.catalog.model import CatalogWriter
from millstream.errors import CatalogError, MillstreamError

LEASE_SECONDS = 60.0
LOST = "MS-CATALOG-LEASE"
"""The code of the error that a run is no longer running, or has another owner."""


def new_owner() -> str:
    """Returns a name for this process that no other process has."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


class LeaseKeeper:
    """Renews a lease in a thread, three times in its duration."""

    def __init__(self, writer: CatalogWriter, run: UUID, owner: str, seconds: float) -> None:
        self._writer = writer
        self._run = run
        self._owner = owner
        self._seconds = seconds
        self._ended = threading.Event()
        self._lost: MillstreamError | None = None
        self._thread = threading.Thread(target=self._keep, name="millstream-lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def require(self) -> None:
        """Renews the lease now. Raises MS-CATALOG-LEASE if another run may have begun."""
        if self._lost is not None:
            raise self._lost
        self._writer.renew_lease(self._run, self._owner, self._seconds)

    def _keep(self) -> None:
        while not self._ended.wait(self._seconds / 3):
            try:
                self._writer.renew_lease(self._run, self._owner, self._seconds)
            except CatalogError as error:
                # A database that cannot be reached may be back before the lease ends.
                if error.code == LOST:
                    self._lost = error
                    return
