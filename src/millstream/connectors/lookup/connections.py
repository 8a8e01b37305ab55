"""A pool of open connections.

psycopg's pool is not used: it connects in the background, so a query waits for its timeout when the
password is wrong or the server is unreachable, and the cause is only logged.
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
    """Opens a connection if none is idle; the caller limits how many are used at once."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._idle: LifoQueue[C] = LifoQueue()

    @contextmanager
    def one(self) -> Iterator[C]:
        """Lends a connection. After a failure it is closed, and so are the idle connections: a
        restart of the server breaks all of them."""
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
