"""Handles signals while Spark works: the main thread only waits, so it receives them at once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread, current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

_POLL = 0.1
_SAME = 0.3  # seconds in which a signal arrives twice: `timeout` sends it to process and group
T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """Runs `work` in a thread. Ctrl-C, SIGTERM and SIGHUP stop waiting for it, and the process
    exits normally, with its exit handlers."""
    result: list[T] = []
    failed: list[BaseException] = []

    def done() -> None:
        try:
            result.append(work())
        except BaseException as error:  # noqa: BLE001 -- raised again by the thread that waits
            failed.append(error)

    thread = Thread(target=done, name="millstream-work", daemon=True)
    thread.start()
    before = {}
    if current_thread() is main_thread():
        before = {each: signal.signal(each, _exit) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        while thread.is_alive():
            thread.join(_POLL)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if failed:
        raise failed[0]
    return result[0]


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Handles SIGTERM and SIGHUP like Ctrl-C, for which PySpark also cancels the jobs of a session.
    What is ignored, as SIGHUP below nohup, stays ignored."""
    interrupt = signal.getsignal(signal.SIGINT)
    before = {}
    if current_thread() is main_thread() and callable(interrupt):
        for each in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(each) is not signal.SIG_IGN:
                before[each] = signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _exit(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


@dataclass(slots=True)
class Signals:
    """Handles SIGINT, SIGTERM and SIGHUP: the first one requests a stop, a second one ends the
    process at once. The same signal within `_SAME` seconds is not a second one."""

    received: signal.Signals | None = None
    _received_at: float = 0.0
    _previous_handlers: dict[signal.Signals, Any] = field(default_factory=dict)
    _terminals: list[int] = field(default_factory=list)  # outputs that a hangup closes

    def __enter__(self) -> Self:
        if current_thread() is main_thread():
            self._terminals = [number for number in (1, 2) if os.isatty(number)]
            for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                # `nohup` starts a command with SIGHUP ignored; this is preserved.
                if each is signal.SIGHUP and signal.getsignal(each) is signal.SIG_IGN:
                    continue
                self._previous_handlers[each] = signal.signal(each, self._receive)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for each, handler in self._previous_handlers.items():
            signal.signal(each, handler)

    def _receive(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._leave_terminal()
        if self.received == number and time.monotonic() - self._received_at < _SAME:
            return
        if self.received is not None:
            with suppress(OSError):
                os.write(2, b"\nKilled. The next run continues after the last completed batch.\n")
            os._exit(128 + number)
        self._received_at = time.monotonic()
        self.received = signal.Signals(number)

    def _leave_terminal(self) -> None:
        """Redirects output to /dev/null: writing to a closed terminal would fail."""
        if self._terminals:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for each in self._terminals:
                os.dup2(nowhere, each)
