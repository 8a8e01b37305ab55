"""The entry point of the command line."""

from __future__ import annotations

import subprocess
import sys


def test_ctrl_c_while_modules_are_imported_ends_without_a_stack_trace() -> None:
    code = """
import sys
class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "millstream.cli.run":
            raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
from millstream.cli.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
