"""Free ports for the services of tests."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Returns a port of the loopback address that nothing listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
