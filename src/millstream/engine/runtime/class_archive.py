"""The class data archive: Spark's classes in a file that later JVMs map into memory.

In short runs, loading and linking classes takes much of the time: 9 of 45 processor seconds of a
session query over 4.6 million rows. The JVM writes the file when it ends, and ignores a file that
does not fit it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

import pyspark

_PREFIX = "classes-"


def archive() -> Path | None:
    """Returns the path of the archive for this Java and this Spark; None if there is no Java."""
    java = _java()
    if java is None:
        return None
    jars = Path(pyspark.__file__).parent / "jars"
    about = (java, java.stat().st_mtime_ns, jars, jars.stat().st_mtime_ns, pyspark.__version__)
    key = hashlib.sha256(repr(about).encode()).hexdigest()[:16]
    return _cache() / f"{_PREFIX}{key}.jsa"


def options() -> str:
    """Returns the JVM options that use the archive, if it exists."""
    found = archive()
    if found is None or " " in str(found) or not found.exists():
        return ""
    # The JVM ignores a file that does not fit, without a message at each start.
    return f" -XX:SharedArchiveFile={found} -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off"


def dump_options(path: Path) -> str:
    """Returns the JVM options that write the archive when the JVM ends."""
    return f" -XX:ArchiveClassesAtExit={path} -Xlog:cds=off -Xlog:cds+dynamic=off"


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else shutil.which("java")
    return Path(found).resolve() if found and Path(found).exists() else None


def _cache() -> Path:
    """The cache folder: in the virtual environment, or among the caches of the user."""
    if given := os.environ.get("MILLSTREAM_CACHE"):
        return Path(given).absolute()
    if sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix) / "cache" / "millstream"
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "millstream"
