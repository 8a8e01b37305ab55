"""Open connections, kept for the next question.

Not psycopg's pool: that one connects in the background, so that a question waits out its timeout
where a wrong password or a refused connection could be told at once, and why is only logged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, LifoQueue
from typing import Generic, Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=_Closable)


class Connections(Generic[C]):
    """As many as are asked for at once, which the caller bounds."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._idle: LifoQueue[C] = LifoQueue()

    @contextmanager
    def one(self) -> Iterator[C]:
        """A connection. One on which something failed is not used again; nor are the idle ones,
        which a restart of the server has broken, too."""
        connection = self._take() or self._connect()
        try:
            yield connection
        except BaseException:
            connection.close()
            self.close()
            raise
        self._idle.put(connection)

    def close(self) -> None:
        while connection := self._take():
            connection.close()

    def _take(self) -> C | None:
        try:
            return self._idle.get_nowait()
        except Empty:
            return None
