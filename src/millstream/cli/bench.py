"""`millstream bench`: measures joins on this machine."""

from __future__ import annotations

from millstream.cli.fail import CommandError, reported

EPILOG = ""
HIDDEN = True


def bench() -> None:
    """Measure joins on this machine."""
    with reported():
        raise CommandError(
            "MS-CLI-BENCH",
            "this installation holds no benchmarks.",
            fix="Run `make bench` in a clone of the repository.",
        )
