"""Signals while Spark works: the main thread only waits, so it hears them at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Thread, current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

_POLL = 0.1
T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """Do the work in a thread; Ctrl-C ends the wait for it, whatever it is at."""
    result: list[T] = []
    failed: list[BaseException] = []

    def done() -> None:
        try:
            result.append(work())
        except BaseException as error:  # noqa: BLE001 -- raised again by the thread that waits
            failed.append(error)

    thread = Thread(target=done, name="millstream-work", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_POLL)
    if failed:
        raise failed[0]
    return result[0]


@dataclass(slots=True)
class Signals:
    """Hears SIGINT and SIGTERM: the first asks to stop, the second ends the process at once."""

    heard: signal.Signals | None = None
    _before: dict[signal.Signals, Any] = field(default_factory=dict)

    def __enter__(self) -> Self:
        if current_thread() is main_thread():
            for each in (signal.SIGINT, signal.SIGTERM):
                self._before[each] = signal.signal(each, self._hear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def _hear(self, number: int, _: FrameType | None) -> None:
        if self.heard is not None:
            sys.stderr.write("\nKilled. The next run goes on from the last batch that was done.\n")
            sys.stderr.flush()
            os._exit(128 + number)
        self.heard = signal.Signals(number)
