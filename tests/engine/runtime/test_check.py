"""A missing internal of PySpark is reported by name, before it can slow down or break a job."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest

from millstream.engine.runtime import check
from millstream.engine.runtime.arrow_frame import ArrowFrame, keeps_memory
from millstream.engine.runtime.check import (
    DRIVER,
    JAVA,
    WORKER,
    Internal,
    JavaClass,
    check_driver,
    check_gateway,
    check_jvm,
    check_worker,
)
from millstream.errors import RunError, decode

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/notes/pyspark-internals.md").read_text(encoding="utf-8")
BROKEN = "tests.engine.runtime.broken_worker"


@pytest.fixture(autouse=True)
def _check_anew():
    check_driver.cache_clear()
    check._check_classes.cache_clear()
    yield
    check_driver.cache_clear()
    check._check_classes.cache_clear()


def rejected(call, *arguments) -> RunError:
    with pytest.raises(RunError) as caught:
        call(*arguments)
    assert caught.value.code == "MS-RUN-PYSPARK"
    assert "pip install 'pyspark~=4.3.0'" in caught.value.fix
    return caught.value


def test_the_installed_pyspark_has_all_internals(monkeypatch):
    monkeypatch.setenv("SPARK_PYTHON_RUNTIME", "PYTHON_WORKER")
    check_driver()
    check_worker(keeps_memory)


@pytest.mark.parametrize("internal", [*DRIVER, *WORKER], ids=str)
def test_a_missing_internal_is_found(monkeypatch, internal: Internal):
    if internal.name:
        owner, _, name = f"{internal.module}:{internal.name}".rpartition(
            "." if "." in internal.name else ":"
        )
        if internal.assigned:
            monkeypatch.setattr(f"{internal.module}.{internal.name}", type("Other", (), {}))
        else:
            monkeypatch.delattr(f"{owner.replace(':', '.')}.{name}")
    else:
        monkeypatch.setitem(sys.modules, internal.module, None)
    assert internal.problem() == "is missing"


def test_the_driver_reports_the_internal_its_use_and_the_versions(monkeypatch):
    monkeypatch.delattr("pyspark.java_gateway.launch_gateway")
    monkeypatch.setattr(pyspark, "__version__", "4.9.1")
    error = rejected(check_driver)
    assert error.cause == (
        "PySpark 4.9.1 does not fit: pyspark.java_gateway.launch_gateway is missing "
        "(used to start the JVM and know how it ended)."
    )


def test_a_function_with_other_parameters_is_reported(monkeypatch):
    def launch_gateway(options: object) -> None: ...

    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launch_gateway)
    assert "takes (options) instead of (conf, popen_kwargs)" in rejected(check_driver).cause


def test_all_missing_internals_are_reported_at_once(monkeypatch):
    monkeypatch.delattr("pyspark.SparkContext._gateway")
    monkeypatch.delattr("py4j.java_gateway.null_handler")
    cause = rejected(check_driver).cause
    assert "pyspark.SparkContext._gateway is missing" in cause
    assert "py4j.java_gateway.null_handler is missing" in cause


def test_a_session_is_not_started_without_an_internal(monkeypatch):
    from millstream.engine.runtime.jvm import active_session
    from millstream.engine.runtime.session import local_session

    monkeypatch.delattr("pyspark.find_spark_home._find_spark_home")
    rejected(active_session)
    rejected(local_session)


def test_a_gateway_without_its_process_is_rejected():
    check_gateway(SimpleNamespace(proc=None))
    assert "proc of the gateway is missing" in rejected(check_gateway, SimpleNamespace()).cause


def test_a_worker_whose_results_would_be_copied_value_by_value_is_rejected(monkeypatch):
    monkeypatch.setenv("SPARK_PYTHON_RUNTIME", "PYTHON_WORKER")
    monkeypatch.delattr(ArrowFrame, "_constructor_sliced")
    error = rejected(check_worker, keeps_memory)
    assert "PandasToArrowConversion.convert copies Arrow's memory" in error.cause


def test_a_worker_that_cannot_know_that_it_is_one_is_rejected(monkeypatch):
    monkeypatch.delenv("SPARK_PYTHON_RUNTIME", raising=False)
    assert "SPARK_PYTHON_RUNTIME is not PYTHON_WORKER" in rejected(check_worker).cause


def test_a_worker_s_parent_reports_a_missing_internal_to_spark():
    done = subprocess.run(
        [sys.executable, "-m", BROKEN],
        env={**os.environ, "SPARK_PYTHON_RUNTIME": "PYTHON_WORKER", "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 1
    # Spark indents what the process printed.
    error = decode("Error from python worker:\n  " + done.stderr.replace("\n", "\n  "))
    assert error is not None
    assert "pyspark.worker.main is missing" in error.cause


def test_the_classes_of_the_jvm_are_there(spark):
    check_jvm(spark)


@pytest.mark.parametrize(
    ("java", "name"),
    [
        (JavaClass("read", "org.apache.spark.sql.Nothing"), "org.apache.spark.sql.Nothing"),
        (replace(JAVA[0], methods=("dataSource", "no")), f"{JAVA[0].name}.no"),
    ],
    ids=["class", "method"],
)
def test_a_missing_class_of_the_jvm_is_reported(spark, monkeypatch, java, name):
    monkeypatch.setattr(check, "JAVA", (java,))
    assert f"{name} is missing (used to read" in rejected(check_jvm, spark).cause


@pytest.mark.slow
def test_a_job_whose_workers_lack_an_internal_fails_with_its_name():
    code = inspect.cleandoc(f"""
        from millstream.errors import MillstreamError
        from millstream.run.failures import user_error
        from millstream.engine.runtime.session import local_session

        spark = local_session(1, **{{"spark.python.daemon.module": {BROKEN!r}}})
        try:
            with user_error():
                spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()
        except MillstreamError as error:
            print(error)
        spark.stop()
    """)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    assert done.stdout.startswith("MS-RUN-PYSPARK: ")
    assert "pyspark.worker.main is missing" in done.stdout


@pytest.mark.parametrize("internal", [*map(str, [*DRIVER, *WORKER]), *(each.name for each in JAVA)])
def test_the_page_of_internals_names_each(internal):
    assert f"`{internal}" in PAGE


def python_path() -> str:
    return os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
