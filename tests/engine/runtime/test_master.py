"""A standalone master that cannot be reached is rejected before Spark tries."""

from __future__ import annotations

import socket

import pytest

from millstream.engine.runtime.master import check_master
from millstream.errors import RunError


def unused_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_master_that_does_not_listen_is_rejected():
    master = f"spark://127.0.0.1:{unused_port()}"
    with pytest.raises(RunError) as found:
        check_master(master)
    assert found.value.code == "MS-RUN-MASTER"
    address = master.removeprefix("spark://")
    assert found.value.cause == (
        f"the Spark master {master} cannot be reached ({address}: Connection refused)."
    )
    assert found.value.fix == (
        "Check that it is running and that 'spark.master' has its address, or remove "
        "'spark.master' to run on this machine."
    )


def test_every_address_is_named_and_the_port_has_a_default():
    addresses = []

    def is_idle(address: tuple[str, int], timeout: float) -> None:
        addresses.append(address)
        raise TimeoutError("timed out")

    with pytest.raises(RunError) as found:
        check_master("spark://one,two:7078", is_idle)
    assert addresses == [("one", 7077), ("two", 7078)]
    assert found.value.cause.endswith("(one: no answer; two:7078: no answer).")


def test_one_master_that_answers_is_enough():
    with socket.create_server(("127.0.0.1", 0)) as server:
        check_master(f"spark://127.0.0.1:{unused_port()},127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize("master", ["", "local[2]", "yarn", "k8s://https://host:443"])
def test_other_masters_are_left_to_spark(master):
    check_master(master, connect=None)  # type: ignore[arg-type]
