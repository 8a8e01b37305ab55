"""Errors show the text of a job with stars in place of secrets."""

from __future__ import annotations

import time

import pytest
from tests.cli.jobs import command, project

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.sql.masking import mask_text

SECRET = "hunter2secret"
STARS = "*" * len(SECRET)


def job(*properties: str, connector: str = "postgresql") -> str:
    """Returns a job whose source has these properties, all on one line."""
    listed = ", ".join((f"'connector' = '{connector}'", *properties))
    return (
        f"CREATE SOURCE a (id INT, ts TIMESTAMP) WITH (\n{listed});\n"
        "CREATE SINK out WITH ('connector' = 'noop') AS SELECT id FROM a;"
    )


@pytest.mark.parametrize(
    "text",
    [
        job(f"'url' = 'postgresql://u:{SECRET}@localhost/db'"),
        job(f"'url' = 'postgresql://localhost/db?user=u&password={SECRET}'"),
        job("'url' = 'postgresql://localhost/db'", f"'password' = '{SECRET}'", "'tabel' = 'x'"),
        job(f"'url' = 'host=db password=\\'{SECRET} {SECRET}\\''", "'tabel' = 'x'"),
        job(f"'sasl.password' = '{SECRET}'", connector="kafka"),
        job(f"'kafka.sasl.password' = '{SECRET}'", connector="kafka"),
        job(
            "'kafka.sasl.jaas.config' = 'org.x.PlainLoginModule required username=\\'u\\' "
            f"password=\\'{SECRET}\\';'",
            connector="kafka",
        ),
        job(f"'schema.registry.url' = 'http://u:{SECRET}@localhost'", connector="kafka"),
        job(f"'path' = 's3://AKIA:{SECRET}@bucket/x'", "'formt' = 'csv'", connector="file"),
        job("'url' = 'x'", "'password'", "=", f"'{SECRET}'"),
        job(f"'password' '{SECRET}'"),
        job(f"'password' = {SECRET}"),
        job(f"'password', '{SECRET}'"),
        job(f"'url' = 'x, 'password' = '{SECRET}'"),
        job(f"'password' = '{SECRET}"),
        job(f"'password' = 'one\n{SECRET}', 'tabel' = 'x'"),
        job(f"'password' = 'a\\'b{SECRET}' 'more{SECRET}', 'tabel' = 'x'"),
        job(f"'password' = 'a''b{SECRET}', 'tabel' = 'x'"),
        job(f"password = \"{SECRET}\", 'tabel' = 'x'"),
        job(f"'tabel' = 'x' -- 'password' = '{SECRET}'\n"),
        job(f"'tabel' = 'x' /* it's postgresql://u:{SECRET}@h */"),
        f"SET 'spark.hadoop.fs.s3a.secret.key' = '{SECRET}', 'x' = 'y';",
        f"SET 'chekpoint' = 's3://AKIA:{SECRET}@bucket/c';",
    ],
)
def test_no_error_shows_a_secret(tmp_path, text: str) -> None:
    with pytest.raises(MillstreamError) as caught:
        build_job(text)
    place = caught.value.place
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value)
    assert place is None or place.text in mask_text(text).splitlines()
    file = project(tmp_path, text)
    for name, *more in (("explain",), ("explain", "--json"), ("run", "--once")):
        done = command(name, file, *more)
        assert done.exit_code == 2
        assert SECRET not in done.output


def test_the_caret_stays_below_the_property_with_the_error(tmp_path) -> None:
    text = job("'url' = 'postgresql://localhost/db'", f"'password' = '{SECRET}'", "'tabel' = 'x'")
    text = text.replace("SOURCE a", "TABLE a")
    lines = command("explain", project(tmp_path, text)).stderr.splitlines()
    assert f"'password' = '{STARS}', 'tabel' = 'x'" in lines[1]
    assert lines[1][lines[2].index("^") :].startswith("'tabel'")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'password' = '${PG}'", "'password' = '${PG}'"),
        ("'password' = 'a${PG}b'", "'password' = '*${PG}*'"),
        ("'password.env' = 'PG_PASSWORD'", "'password.env' = 'PG_PASSWORD'"),
        ("'sasl.password.file' = '/run/pw'", "'sasl.password.file' = '/run/pw'"),
        ("'key.columns' = 'id', 'key_groups' = '8'", "'key.columns' = 'id', 'key_groups' = '8'"),
        ("ON (a.token = b.token) AND a.x = 'y'", "ON (a.token = b.token) AND a.x = 'y'"),
        ("SELECT password, 'x' AS secret", "SELECT password, 'x' AS secret"),
        ("'url' = 'postgresql://host/db'", "'url' = 'postgresql://host/db'"),
        ("'url' = 'jdbc:postgresql://u:p w@x@h/d'", "'url' = 'jdbc:postgresql://*******@h/d'"),
        ("'mail' = 'a@b', 'to' = 'file:///x'", "'mail' = 'a@b', 'to' = 'file:///x'"),
        ("'secret' = 'ab\ncd'", "'secret' = '**\n**'"),
        ("r'secret' = r'a b'", "r'secret' = r'***'"),
        ("'http.headers' = 'X-Api-Key: abc'", "'http.headers' = 'X-Api-Key: ***'"),
        ("'kafka.ssl.key.pem' = 'abc'", "'kafka.ssl.key.pem' = '***'"),
        ("'secret' = '値x'", "'secret' = '**'"),
        ("'secret' /* = */ = /* ' */ 'abc'", "'secret' /* = */ = /* ' */ '***'"),
    ],
)
def test_only_secrets_are_masked(text: str, shown: str) -> None:
    assert mask_text(text) == shown


@pytest.mark.parametrize("piece", ["token", "://", "://a@", "'", "('token'=", "/*", ", ", "pass."])
def test_a_long_text_is_masked_in_a_short_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    begin = time.process_time()
    assert len(mask_text(text)) == len(text)
    assert time.process_time() - begin < 5
