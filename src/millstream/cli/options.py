"""Arguments and options that several verbs share."""

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
    Path, typer.Argument(metavar="JOB.sql", help="The file with the job's statements.")
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Fill ${NAME} in the job. NAME alone takes the environment variable of that name, "
        "so that a secret stands in no command line. May be given several times.",
    ),
]
EngineOption = Annotated[
    EngineChoice | None,
    typer.Option("--engine", help="Run every query on this engine, whatever the job says."),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]

CatalogUrl = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        metavar="URL",
        help="The catalog: a SQLite file, or postgresql://host:port/database. By default the value "
        "of MILLSTREAM_CATALOG, or millstream-catalog.db.",
    ),
]


def variables_of(given: Iterable[str] | None) -> dict[str, str]:
    variables: dict[str, str] = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not name.strip() or (not equals and name not in os.environ):
            cause = (
                f"--set {item} gives no value." if name.strip() else f"--set {item} has no name."
            )
            raise CommandError(
                "MS-CLI-SET",
                cause,
                fix="Write --set NAME=VALUE, or --set NAME with an environment variable NAME.",
            )
        variables[name.strip()] = value if equals else os.environ[name]
    return variables
