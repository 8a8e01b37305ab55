"""How a command ends when something is wrong: what it prints, and with which code it exits.

0 all went well    1 a run or a test failed    2 the text, the plan or the command is wrong
130 Ctrl-C
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
    """MS-CLI-…: the command line names something that is not there or does not fit."""


@contextmanager
def reported(as_json: bool = False) -> Iterator[None]:
    """No mistake of a user's ends in a stack trace."""
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
        # The reader of our output has left (`… | head`); Python would complain on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:  # noqa: BLE001 -- the last net
        show(bug(error))
        raise typer.Exit(1) from None


def exit_code(error: MillstreamError) -> int:
    return 1 if isinstance(error, RunError | StateError) else 2


def bug(error: BaseException) -> MillstreamError:
    """An error that nobody foresaw: a mistake of ours, told as one."""
    if os.environ.get("MILLSTREAM_TRACE"):
        traceback.print_exception(error, file=sys.stderr)
    name, told = type(error).__name__, str(error).split("\n", 1)[0]
    return RunError(
        "MS-RUN-BUG",
        f"Millstream itself failed: {name}: {told}"
        if told
        else f"Millstream itself failed: {name}",
        fix="Set MILLSTREAM_TRACE=1 to see where, and please report it.",
    )


def show(error: MillstreamError) -> None:
    sys.stderr.write(text(error))


def text(error: MillstreamError) -> str:
    """Code and place, the line with a caret under the column, the cause, the fix."""
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
