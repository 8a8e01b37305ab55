"""Spark's classes, loaded once and kept in a file that later JVMs map into memory.

A short run spends more on loading, checking and linking classes than on its rows: of 45 processor
seconds of a session query over 4.6 million rows, 9. The JVM itself makes the file when it ends, and
takes no other notice of one that does not fit it.
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
    """Where the file for this Java and this Spark is, or would be; None if there is no Java."""
    java = _java()
    if java is None:
        return None
    jars = Path(pyspark.__file__).parent / "jars"
    about = (java, java.stat().st_mtime_ns, jars, jars.stat().st_mtime_ns, pyspark.__version__)
    key = hashlib.sha256(repr(about).encode()).hexdigest()[:16]
    return _cache() / f"{_PREFIX}{key}.jsa"


def options() -> str:
    """What a JVM is started with, to use the file if there is one."""
    found = archive()
    if found is None or " " in str(found) or not found.exists():
        return ""
    # A file that no longer fits is passed over; nobody needs to be told so on each start.
    return f" -XX:SharedArchiveFile={found} -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off"


def making(path: Path) -> str:
    """What a JVM is started with, to write the file when it ends."""
    return f" -XX:ArchiveClassesAtExit={path} -Xlog:cds=off -Xlog:cds+dynamic=off"


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else shutil.which("java")
    return Path(found).resolve() if found and Path(found).exists() else None


def _cache() -> Path:
    """In a virtual environment it goes with that; else it is one of the user's caches."""
    if given := os.environ.get("MILLSTREAM_CACHE"):
        return Path(given).absolute()
    if sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix) / "cache" / "millstream"
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "millstream"
