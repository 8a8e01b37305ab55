"""Arguments and options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.errors import CommandError


class EngineChoice(StrEnum):
    auto = "auto"
    columnar = "columnar"
    native = "native"


JobFile = Annotated[
    Path, typer.Argument(metavar="JOB.sql", help="The file with the job's SQL statements.")
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set the variable ${NAME} of the job. Without =VALUE, the environment variable NAME "
        "is used, so that a secret does not appear in the command line. Repeatable.",
    ),
]
EngineOption = Annotated[
    EngineChoice | None,
    typer.Option("--engine", help="Run all queries on this engine; overrides the job."),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON object to stdout.")
]

CatalogUrl = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        metavar="URL",
        help="The catalog: a SQLite file, or postgresql://host:port/database. Default: the value "
        "of MILLSTREAM_CATALOG, or millstream-catalog.db.",
    ),
]


def variables_of(given: Iterable[str] | None) -> dict[str, str]:
    variables: dict[str, str] = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not name.strip() or (not equals and name not in os.environ):
            cause = (
                f"--set {item} has no value, and there is no environment variable {item}."
                if name.strip()
                else f"--set {item} has no name."
            )
            raise CommandError(
                "MS-CLI-SET",
                cause,
                fix="Write --set NAME=VALUE, or --set NAME with an environment variable NAME.",
            )
        variables[name.strip()] = value if equals else os.environ[name]
    return variables
