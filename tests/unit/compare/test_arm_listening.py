"""Where an arm may listen: nowhere that another machine can reach."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from stowage_testbed.compare.arms.program import http_readiness, listens_beyond


def a_process(*addresses: str, status: str = psutil.CONN_LISTEN) -> Any:
    """Return what psutil says of a process that listens there."""
    connections = [
        SimpleNamespace(status=status, laddr=SimpleNamespace(ip=ip, port=9999))
        for ip in addresses
    ]
    return SimpleNamespace(
        net_connections=lambda _: connections, children=lambda recursive: []
    )


EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing is bound


@pytest.mark.parametrize("address", [EVERYWHERE, "::", "192.0.2.7"])
def test_a_program_that_others_can_reach_is_never_ready(address: str) -> None:
    """A scheduler's secure port on every interface is one flag that was forgotten."""
    process = a_process("127.0.0.1", address)

    answer = http_readiness("http://127.0.0.1:9999/", process)

    assert answer == (
        f"it listens on {address}:9999, which others can reach; bind it to 127.0.0.1"
    )


def test_the_loopback_is_nobody_elses() -> None:
    """In both families; and a connection to elsewhere is no listening."""
    assert listens_beyond(a_process("127.0.0.1", "127.0.0.53", "::1")) == ""
    calling = a_process("192.0.2.7", status=psutil.CONN_ESTABLISHED)
    assert listens_beyond(calling) == ""
