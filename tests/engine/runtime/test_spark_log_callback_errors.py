"""Errors of Py4J that the job reports itself are not printed."""

from __future__ import annotations

import io
import logging
import subprocess
import sys

from millstream.engine.runtime.spark_log import disable_callback_errors

# A process of its own: pytest configures logging.
LOST_CONNECTION = """
import logging
from py4j import clientserver, java_gateway
from millstream.engine.runtime.spark_log import disable_callback_errors

disable_callback_errors()
logging.basicConfig()  # as Py4J's first message to the root logger does
clientserver.logger.error("There was an exception while executing the Python Proxy.")
java_gateway.logger.error("An error occurred while trying to connect to the Java server.")
logging.getLogger("mine").error("visible")
"""


def test_py4j_prints_nothing_once_the_root_logger_has_a_handler():
    command = [sys.executable, "-c", LOST_CONNECTION]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("", "ERROR:mine:visible\n")


def test_a_handler_that_a_user_gave_to_py4j_is_kept(monkeypatch):
    printed = io.StringIO()
    py4j = logging.getLogger("py4j")
    monkeypatch.setattr(py4j, "handlers", [logging.StreamHandler(printed)])
    monkeypatch.setattr(py4j, "propagate", True)

    disable_callback_errors()
    logging.getLogger("py4j.clientserver").error("There was an exception")

    assert printed.getvalue() == "There was an exception\n"
