"""`millstream prepare`: once a machine, so that Spark starts faster."""

from __future__ import annotations

from typing import Annotated

import typer

from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.options import AsJson

EPILOG = """
Examples:

  millstream prepare

Every Spark that millstream starts on this machine uses the file then. It fits one Java and one
PySpark: call it again after an update of either. It may be deleted at any time. It is kept in the
virtual environment, else in ~/.cache/millstream; MILLSTREAM_CACHE names another folder.
"""


def prepare(
    again: Annotated[
        bool, typer.Option("--again", help="Make the file anew, though there is one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Have Spark start faster: keep its classes, as the JVM loads them, in a file of 200 MB.

    It takes about a minute, once a machine. Without it everything works as well, a few seconds
    later.
    """
    with reported(as_json):
        from millstream.engine.runtime.class_archive import archive

        path = archive()
        if path is None:
            raise CommandError(
                "MS-CLI-JAVA", "there is no Java here.", fix="Install Java 17 or set JAVA_HOME."
            )
        there = path.exists() and not again
        if not there:
            from millstream.run.prepare import make

            if not as_json:
                print("Running a small job and keeping Spark's classes (about a minute) …")
            make(path)
        size = path.stat().st_size
        if as_json:
            print_json({"file": str(path), "bytes": size, "made": not there})
        else:
            print(f"{path}, {size / 2**20:,.0f} MB{': it is there' if there else ''}.")
