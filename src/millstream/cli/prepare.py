"""`millstream prepare`: creates a class archive, so that Spark starts faster on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.options import AsJson

EPILOG = """
Examples:

  millstream prepare

Millstream uses the file whenever it starts Spark on this machine. Run the command again after an
update of Java or PySpark. The file can be deleted at any time. It is stored in the virtual
environment, otherwise in ~/.cache/millstream; MILLSTREAM_CACHE sets another folder.
"""


def prepare(
    again: Annotated[bool, typer.Option("--again", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make Spark start a few seconds faster: store its JVM classes in a file of about 200 MB.

    Takes about a minute, once per machine. The command is optional.
    """
    with reported(as_json):
        from millstream.engine.runtime.class_archive import archive

        path = archive()
        if path is None:
            raise CommandError(
                "MS-CLI-JAVA",
                "Java was not found, and Spark needs it.",
                fix="Install Java 17 or newer, or set JAVA_HOME.",
            )
        exists = path.exists() and not again
        if not exists:
            from millstream.run.prepare import make

            if not as_json:
                print("Running a small job and storing Spark's classes (about a minute) …")
            make(path)
        size = path.stat().st_size
        if as_json:
            print_json({"file": str(path), "bytes": size, "created": not exists})
        else:
            print(f"{path}, {size / 2**20:,.0f} MB{': it already exists' if exists else ''}.")
