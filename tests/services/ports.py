"""Free ports for the services of tests."""

from __future__ import annotations

import itertools
import os
import socket

# Below the ports that the system gives to outgoing connections, one of which could take a port
# between its choice and the start of the service.
_FIRST, _COUNT = 10_000, 20_000
_candidates = itertools.count(os.getpid() * 64)


def free_port() -> int:
    """Returns a port of the loopback address that nothing listens on, like the next one."""
    for number in itertools.islice(_candidates, _COUNT // 2):
        port = _FIRST + 2 * number % _COUNT
        if _is_free(port) and _is_free(port + 1):
            return port
    raise AssertionError("no port is free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
