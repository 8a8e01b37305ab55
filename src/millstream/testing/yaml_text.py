"""Reads the YAML of test files. Mistakes are errors of the test file."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.documents import yaml_text
from millstream.documents.yaml_loader import Fault
from millstream.documents.yaml_text import Document, YamlError
from millstream.errors import HarnessError

__all__ = ["Document", "read"]

_CODES: Mapping[Fault, str] = {
    Fault.SYNTAX: "MS-TEST-YAML",
    Fault.VALUE: "MS-TEST-VALUE",
    Fault.DUPLICATE_KEY: "MS-TEST-DOUBLE",
    Fault.SIZE: "MS-TEST-SIZE",
}
_SIZE_FIX = "Keep rows in a CSV or JSON file."


def read(text: str, file: str) -> list[Document]:
    """All documents of a text, in order."""
    try:
        return yaml_text.read(text, file)
    except YamlError as error:
        fix = _SIZE_FIX if error.fault is Fault.SIZE and not error.fix else error.fix
        raise HarnessError(_CODES[error.fault], error.cause, fix=fix, place=error.place) from None
