"""A spec travels to workers, hides its secrets, and brings no Spark with it."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from tests.connectors.lookup.tables import spec_of

from millstream.connectors.lookup.store import check
from millstream.errors import RunError
from millstream.values import Condition


def test_a_spec_is_picklable_and_hashable():
    spec = spec_of(options={"path": "a.db"}, conditions=[Condition("age", ">", (1,))], retries=3)
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert hash(again) == hash(spec)
    assert len({spec, again, spec_of()}) == 2


def test_a_spec_shows_no_options():
    spec = spec_of(options={"password": "s3cret", "url": "postgresql://me:s3cret@host/shop"})
    assert "s3cret" not in f"{spec!r} {spec}"


def test_lookups_bring_no_spark_and_no_psycopg():
    code = (
        "import sys; import millstream.connectors.lookup.lookups as _; "
        "print([n for n in ('pyspark', 'py4j', 'psycopg') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_without_psycopg_the_error_says_how_to_install_it(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("psycopg")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if "connectors.postgresql" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(RunError) as error:
        check(spec_of(connector="postgresql"))
    assert str(error.value) == (
        "MS-LOOKUP-DRIVER: table customers is in PostgreSQL, which needs psycopg, and "
        "psycopg is not installed. "
        "Install it: pip install 'millstream[postgresql]'."
    )
