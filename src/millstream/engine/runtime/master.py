"""Checks that a standalone master can be reached, before Spark tries for a minute."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from millstream.errors import RunError

_SCHEME = "spark://"
_PORT = 7077
_SECONDS = 5.0


def check_master(
    master: str, connect: Callable[..., Any] = socket.create_connection, seconds: float = _SECONDS
) -> None:
    """Rejects a `spark://` master that does not answer. Spark itself would retry for a minute and
    then fail with an error that does not mention the master."""
    if not master.startswith(_SCHEME):
        return
    reasons = []
    for address in master.removeprefix(_SCHEME).split(","):
        host, _, port = address.rpartition(":")
        host, port = (host, port) if host else (port, str(_PORT))
        try:
            connect((host.strip("[]"), int(port)), timeout=seconds).close()
        except (OSError, ValueError) as error:
            reasons.append(f"{address}: {_reason(error)}")
        else:
            return
    raise RunError(
        "MS-RUN-MASTER",
        f"the Spark master {master} cannot be reached ({'; '.join(reasons)}).",
        fix="Check that it is running and that 'spark.master' has its address, or remove "
        "'spark.master' to run on this machine.",
    )


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer"
    return getattr(error, "strerror", None) or str(error)
