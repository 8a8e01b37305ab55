"""Prints the errors of commands and maps them to exit codes.

Exit codes: 0 success, 1 a run or a test failed, 2 the SQL, the plan or the command line is invalid,
130 Ctrl-C.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from millstream.errors import MillstreamError, Place, RunError, StateError

INTERRUPTED = 130


class CommandError(MillstreamError):
    """MS-CLI-…: the command line is invalid or names something that does not exist."""


@contextmanager
def reported(as_json: bool = False) -> Iterator[None]:
    """Prints errors of the block without a stack trace and exits with their code."""
    try:
        yield
    except MillstreamError as error:
        if as_json:
            print_json({"error": as_data(error)})
        show(error)
        raise typer.Exit(exit_code(error)) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader of stdout has exited (`… | head`). Prevents a second error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:  # noqa: BLE001 -- reports unexpected errors
        show(bug(error))
        raise typer.Exit(1) from None


def exit_code(error: MillstreamError) -> int:
    return 1 if isinstance(error, RunError | StateError) else 2


def bug(error: BaseException) -> MillstreamError:
    """Converts an unexpected exception to an error with the request to report it."""
    if os.environ.get("MILLSTREAM_TRACE"):
        traceback.print_exception(error, file=sys.stderr)
    name, message = type(error).__name__, str(error).split("\n", 1)[0]
    return RunError(
        "MS-RUN-BUG",
        f"internal error in Millstream: {name}: {message}"
        if message
        else f"internal error in Millstream: {name}",
        fix="Set MILLSTREAM_TRACE=1 to print the stack trace, and please report the error.",
    )


def show(error: MillstreamError) -> None:
    sys.stderr.write(text(error))


def text(error: MillstreamError) -> str:
    """Formats an error: code and position, the line with a caret, the cause, the fix."""
    at = f" at {error.place}" if error.place else ""
    lines = [f"{error.code}{at}", *_excerpt(error.place), error.cause]
    if error.fix:
        lines.append(f"Fix: {error.fix}")
    return "\n".join(lines) + "\n"


def _excerpt(place: Place | None) -> list[str]:
    if place is None or not place.text.strip():
        return []
    from rich.cells import cell_len

    line = place.text.replace("\t", " ")
    number = str(place.line)
    before = " " * cell_len(line[: place.column - 1])
    return [f"  {number} | {line}", f"  {' ' * len(number)} | {before}^"]


def as_data(error: MillstreamError) -> dict[str, Any]:
    place = error.place
    return {
        "code": error.code,
        "cause": error.cause,
        "fix": error.fix,
        "place": {"file": place.file, "line": place.line, "column": place.column}
        if place
        else None,
    }


def print_json(data: object) -> None:
    print(json.dumps(data, ensure_ascii=False, indent=2))
