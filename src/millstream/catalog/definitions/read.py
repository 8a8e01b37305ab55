"""Reads files of definitions. A mistake is an error with file, line and column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from millstream.catalog.definitions.specs import FileSpec
from millstream.documents import yaml_text
from millstream.documents.yaml_loader import Fault
from millstream.documents.yaml_text import Document, YamlError
from millstream.errors import CatalogError
from millstream.secret_names import contains_secret
from millstream.sql.limits import MAX_YAML_CHARACTERS, read_text
from millstream.suggestions import nearest

_SUFFIXES = (".yaml", ".yml")
_TEST = ".test.yaml"
_SHOWN = 60  # characters of a wrong value
_TYPE_NAMES = (
    (re.compile(r"^a valid (tuple|list)$"), "a list"),
    (re.compile(r"^a valid dictionary( or instance of \w+| or object .*)?$"), "a mapping"),
    (re.compile(r"^a valid string$"), "a text"),
    (re.compile(r"^a valid integer$"), "an integer"),
)
_CODES: Mapping[Fault, str] = {
    Fault.SYNTAX: "MS-CATALOG-YAML",
    Fault.VALUE: "MS-CATALOG-VALUE",
    Fault.DUPLICATE_KEY: "MS-CATALOG-DUPLICATE",
    Fault.SIZE: "MS-CATALOG-YAML",
}


def find_files(path: Path) -> list[Path]:
    """Returns the files of definitions at or below a path. Skips test files and hidden files."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise CatalogError(
            "MS-CATALOG-FILE", f"{path} does not exist.", fix="Name a folder with definitions."
        )
    found = [
        each
        for each in sorted(path.rglob("*"))
        if each.suffix in _SUFFIXES
        and not each.name.endswith(_TEST)
        and not any(part.startswith(".") for part in each.relative_to(path).parts)
        and each.is_file()
    ]
    if not found:
        raise CatalogError(
            "MS-CATALOG-FILE",
            f"there is no file of definitions below {path}.",
            fix="A file of definitions is YAML and its name ends in .yaml.",
        )
    return found


def read_file(path: Path) -> list[tuple[FileSpec, Document]]:
    """Returns the definitions of each YAML document of a file."""
    try:
        text = read_text(path, 4 * MAX_YAML_CHARACTERS)  # a character has up to four bytes
        documents = yaml_text.read(text, str(path))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise CatalogError("MS-CATALOG-FILE", f"{path} cannot be read: {why}.") from None
    except YamlError as error:
        code = _CODES[error.fault]
        raise CatalogError(code, error.cause, fix=error.fix, place=error.place) from None
    return [(_file_spec(document), document) for document in documents]


def _file_spec(document: Document) -> FileSpec:
    if not isinstance(document.value, dict):
        raise CatalogError(
            "MS-CATALOG-YAML",
            "this is not a definition: a file has lists of datasets, periods or projects.",
            fix="Begin with datasets:, periods: or projects:.",
            place=document.place(),
        )
    try:
        return FileSpec.model_validate(document.value)
    except ValidationError as error:
        found = error.errors()
        # A misspelt key is unknown, and the right one is missing.
        unknown = [each for each in found if each["type"] == "extra_forbidden"]
        raise _readable_error((unknown or found)[0], document) from None


def _readable_error(detail: ErrorDetails, document: Document) -> CatalogError:
    path = detail["loc"]
    place = document.place(path)
    if detail["type"] == "extra_forbidden":
        known = _keys_at(path[:-1])
        return CatalogError(
            "MS-CATALOG-KEY",
            f"the key {path[-1]!r} is unknown here.",
            fix=nearest(str(path[-1]), known),
            place=place,
        )
    where = _path_text(path)
    if detail["type"] == "missing":
        cause = f"{_path_text(path[:-1]) or 'the file'} has no key {path[-1]!r}."
        return CatalogError("MS-CATALOG-VALUE", cause, fix="Add it.", place=place)
    if detail["type"] == "wrong_value":
        cause, fix = f"{where}: {detail['ctx']['cause']}.", detail["ctx"]["fix"]
    else:
        cause, fix = f"{where} is {_shown(detail['input'])}.", _requirement(detail["msg"])
    return CatalogError("MS-CATALOG-VALUE", cause, fix=fix, place=place)


def _shown(value: object) -> str:
    """Returns a value as it is shown in an error: only what is short and no secret."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "empty"
    shown = repr(value) if isinstance(value, str) else str(value)
    is_shown = len(shown) <= _SHOWN and not contains_secret(shown)
    return shown if is_shown else "not an accepted value"


def _requirement(message: str) -> str:
    """Returns pydantic's message as a sentence, with YAML's names of types."""
    text = message.removeprefix("Input should be ").rstrip(".")
    if text == message.rstrip("."):
        return f"{text}."
    for pattern, name in _TYPE_NAMES:
        text = pattern.sub(name, text)
    return f"It must be {text}."


def _path_text(path: Sequence[str | int]) -> str:
    """A path such as projects[1].input.dataset."""
    text = ""
    for step in path:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _keys_at(path: Sequence[str | int]) -> list[str]:
    """Returns the keys of the mapping at a path."""
    model: type[BaseModel] = FileSpec
    for step in path:
        field = model.model_fields.get(str(step))
        model = _model_in(field.annotation) or model if field else model
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _model_in(each))), None)
