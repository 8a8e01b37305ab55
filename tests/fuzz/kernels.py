"""The property tests of kernels with random seeds and many examples, without Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tests.fuzz.corpus import ROOT

PROFILE = "fuzz"


def run(seed: int, seconds: float) -> int:
    """Round after round, each with a seed of its own, until the time is over or a test fails."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "tests/kernels", "-k", "properties"]
        command.append(f"--hypothesis-seed={seed}")
        print(
            f"kernels: MILLSTREAM_HYPOTHESIS={PROFILE} python {' '.join(command[1:])}", flush=True
        )
        try:
            code = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, "MILLSTREAM_HYPOTHESIS": PROFILE},
                timeout=left,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return 0
        if code:
            return 1
        seed += 1
    return 0
