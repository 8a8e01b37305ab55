"""The entry point of `millstream` and of `python -m millstream.cli`."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line. Ctrl-C during imports exits without a stack trace."""
    try:
        from millstream.cli.main import app

        app(prog_name="millstream")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
