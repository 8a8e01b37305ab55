"""Finds and reads test files. Errors have the file, line and key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from millstream.documents import yaml_text
from millstream.documents.yaml_loader import Fault
from millstream.documents.yaml_text import Document, YamlError
from millstream.errors import HarnessError
from millstream.sql.limits import MAX_TEXT, MAX_YAML_CHARACTERS
from millstream.temporal import Watermark, parse_span
from millstream.testing import row_files as rowfile
from millstream.testing.case import (
    Case,
    CaseFile,
    ExpectedOutput,
    ExpectSpec,
    Input,
    InputSpec,
    Row,
    WatermarkSpec,
)

SUFFIX = ".test.yaml"
_MODELS: tuple[type[BaseModel], ...] = (CaseFile, InputSpec, ExpectSpec, WatermarkSpec)
_KEYS = {
    model: [field.alias or name for name, field in model.model_fields.items()] for model in _MODELS
}

_CODES: Mapping[Fault, str] = {
    Fault.SYNTAX: "MS-TEST-YAML",
    Fault.VALUE: "MS-TEST-VALUE",
    Fault.DUPLICATE_KEY: "MS-TEST-DOUBLE",
    Fault.SIZE: "MS-TEST-SIZE",
}
_SIZE_FIX = "Keep rows in a CSV or JSON file."


def find(paths: Iterable[Path]) -> list[Path]:
    """Returns the test files at or below the paths, without duplicates."""
    found: dict[Path, None] = {}
    for path in paths:
        if not path.exists():
            raise HarnessError(
                "MS-TEST-FILE", f"{path} does not exist.", fix="Use a folder or a test file."
            )
        here = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not here:
            raise HarnessError(
                "MS-TEST-NONE",
                f"there is no test file below {path}.",
                fix=f"A test file's name ends in {SUFFIX}.",
            )
        found.update(dict.fromkeys(here))
    return list(found)


def load(paths: Iterable[Path]) -> list[Case]:
    """Loads the cases of all test files at or below the paths."""
    return [case for path in find(paths) for case in load_file(path)]


def load_file(path: Path) -> list[Case]:
    """Loads the cases of a file, one per YAML document."""
    documents = read_documents(rowfile.text(path, limit=MAX_YAML_CHARACTERS), str(path))
    if not documents:
        raise HarnessError(
            "MS-TEST-YAML", f"{path} is empty.", fix="Write a test case with name, sql and expect."
        )
    return [_case(document, path) for document in documents]


def _case(document: Document, path: Path) -> Case:
    if not isinstance(document.value, dict):
        raise HarnessError(
            "MS-TEST-VALUE",
            "a test case is not a mapping of keys such as name, sql, inputs and expect.",
            place=document.place(),
        )
    try:
        written = CaseFile.model_validate(document.value)
    except ValidationError as error:
        raise _to_harness_error(error.errors()[0], document) from None
    sql_path = path.parent / written.file if written.file else None
    sql = written.sql
    if sql_path:
        sql = rowfile.text(sql_path, document.place(("file",)), 4 * MAX_TEXT)
    return Case(
        name=written.name,
        sql=sql or "",
        path=path,
        sql_path=sql_path,
        engines=tuple(dict.fromkeys(written.engines)) if written.engines else None,
        settings=written.set,
        variables=written.variables,
        inputs={name: _input(name, spec, document) for name, spec in written.inputs.items()},
        silence=None if written.silence is None else parse_span(written.silence),
        end=written.end,
        expect={
            name: _expected(name, spec, document) for name, spec in (written.expect or {}).items()
        },
        error=written.error,
    )


def _input(name: str, spec: InputSpec, document: Document) -> Input:
    batches: Iterable[Sequence[Row]]
    if spec.file:
        batches = [_rows(spec.file, document, ("inputs", name, "file"))]
    else:
        batches = spec.batches if spec.batches is not None else [spec.rows or []]
    mark = spec.watermark
    return Input(
        batches=tuple(tuple(batch) for batch in batches),
        types=spec.types,
        watermark=Watermark(mark.column, parse_span(mark.delay), mark.every) if mark else None,
        idle=None if spec.idle is None else parse_span(spec.idle),
        text=rowfile.is_text(spec.file),
    )


def _expected(name: str, spec: ExpectSpec, document: Document) -> ExpectedOutput:
    rows = spec.rows or spec.table or []
    if spec.file:
        rows = _rows(spec.file, document, ("expect", name, "file"))
    applied = spec.table is not None
    return ExpectedOutput(tuple(rows), spec.approx, rowfile.is_text(spec.file), applied)


def _rows(file: str, document: Document, key: tuple[str, ...]) -> list[Row]:
    return rowfile.read(Path(document.file).parent / file, document.place(key))


def _to_harness_error(detail: ErrorDetails, document: Document) -> HarnessError:
    """Converts a validation error of Pydantic: suggests a name for unknown keys."""
    path = detail["loc"]
    place = document.place(path)
    key = ".".join(str(step) for step in path)
    if detail["type"] == "extra_forbidden":
        known = _KEYS[_model_at(path)]
        near = get_close_matches(str(path[-1]), known, n=1)
        fix = f"Did you mean {near[0]!r}?" if near else f"Use one of {', '.join(known)}."
        return HarnessError("MS-TEST-KEY", f"the key {key!r} is unknown.", fix=fix, place=place)
    if detail["type"] == "missing":
        return HarnessError("MS-TEST-VALUE", f"the key {key!r} is missing.", place=place)
    key = document.known(path)
    reason = detail["msg"].removeprefix("Value error, ").rstrip(".")
    subject = f"{key!r}" if key else "the case"
    return HarnessError("MS-TEST-VALUE", f"{subject}: {reason}.", place=place)


def _model_at(path: tuple[int | str, ...]) -> type[BaseModel]:
    """Returns the model that a key at this path belongs to."""
    match path:
        case (_,):
            return CaseFile
        case ("inputs", _, "watermark", _):
            return WatermarkSpec
        case ("inputs", *_):
            return InputSpec
        case _:
            return ExpectSpec


def read_documents(text: str, file: str) -> list[Document]:
    """Reads the YAML documents of a test file; errors in YAML are errors of the test file."""
    try:
        return yaml_text.read(text, file)
    except YamlError as error:
        fix = _SIZE_FIX if error.fault is Fault.SIZE and not error.fix else error.fix
        raise HarnessError(_CODES[error.fault], error.cause, fix=fix, place=error.place) from None
