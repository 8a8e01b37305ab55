"""Every module can be imported on its own, and the engine-free ones bring no Spark with them."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import millstream

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(millstream.__path__, "millstream.")
)
ENGINE_FREE = ("errors", "temporal", "sql", "plan", "kernels")


@pytest.mark.parametrize("name", MODULES)
def test_module_can_be_imported(name):
    __import__(name)


@pytest.mark.parametrize("folder", ENGINE_FREE)
def test_engine_free_folder_brings_no_spark(folder):
    names = [name for name in MODULES if f"{name}.".startswith(f"millstream.{folder}.")]
    code = "import importlib, sys\n"
    code += f"for name in {names!r}: importlib.import_module(name)\n"
    code += "print([name for name in sys.modules if name.split('.')[0] in ('pyspark', 'py4j')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
