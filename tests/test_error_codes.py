"""Every error code is described, documented and tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts.error_reference import CODE, PAGE, ROOT, page, uses

from millstream.error_codes import CODES, FAMILIES

KINDS = {".py", ".sql", ".yaml", ".yml", ".json", ".txt"}


def codes_in_tests() -> set[str]:
    """The codes that tests name, without tests that only carry errors about."""
    carriers = (
        "test_error_codes.py",
        "test_error_transport.py",
        "test_error_transport_on_spark.py",
    )
    found: set[str] = set()
    for folder in ("tests", "examples"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in KINDS and file.name not in carriers and file.is_file():
                found.update(CODE.findall(file.read_text(encoding="utf-8", errors="replace")))
    return found


def test_every_code_that_is_raised_is_described_and_every_description_is_of_one():
    raised = {use.code for use in uses()}
    assert raised - CODES.keys() == set(), "add its meaning to error_codes.py"
    assert CODES.keys() - raised == set(), "remove it from error_codes.py"


def test_every_code_is_named_by_a_test():
    assert CODES.keys() - codes_in_tests() == set()


def test_every_code_belongs_to_a_family():
    assert {"-".join(code.split("-")[:2]) for code in CODES} == FAMILIES.keys()


@pytest.mark.parametrize("code", CODES)
def test_a_meaning_is_one_sentence_or_two(code):
    meaning = CODES[code]
    assert meaning[0].isupper() or meaning[0] == "`"
    assert meaning.endswith(".")


def test_the_reference_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m scripts.error_reference"


def test_the_messages_of_a_code_are_found_in_the_source(tmp_path: Path):
    (tmp_path / "a.py").write_text(
        "def a(name, count):\n"
        "    raise RunError('MS-RUN-A', f'{name} has {count} rows too many.', fix='Use ' + name)\n"
        "def b():\n"
        "    why = 'it is ' 'wrong here.'\n"
        "    return refuse(place, 'MS-RUN-B', why)\n"
        "C = {'MS-RUN-C'}\n"
    )
    found = {(use.code, use.cause, use.fix) for use in uses(tmp_path) if use.cause}
    assert found == {
        ("MS-RUN-A", "… has … rows too many.", "Use …"),
        ("MS-RUN-B", "it is wrong here.", ""),
    }
    assert {use.code for use in uses(tmp_path)} == {"MS-RUN-A", "MS-RUN-B", "MS-RUN-C"}


def test_errors_that_spark_raises_are_made_in_one_place():
    found = [
        str(file.relative_to(ROOT))
        for file in sorted((ROOT / "src").rglob("*.py"))
        if re.search(r"F\.raise_error\(|\braise_error\('", file.read_text(encoding="utf-8"))
    ]
    assert found == ["src/millstream/connectors/row_errors.py"]
