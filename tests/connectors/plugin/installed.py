"""Makes the package of this folder importable, with its entry points, as pip would."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

PACKAGE = Path(__file__).parent / "plugin_package" / "millstream_counter"
ENTRY_POINTS = """[millstream.connectors]
counter = millstream_counter.spec:COUNTER
tsv = millstream_counter.spec:TSV
"""


def install(folder: Path, entry_points: str = ENTRY_POINTS) -> dict[str, str]:
    """Returns the environment of a process that has the package installed."""
    shutil.copytree(PACKAGE, folder / PACKAGE.name)
    info = folder / "millstream_counter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: millstream-counter\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(entry_points)
    given = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(folder), given)))}
