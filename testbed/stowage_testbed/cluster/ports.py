"""Ports of 127.0.0.1 for one cluster's components and for what runs beside them."""

import socket
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from itertools import chain
from zlib import crc32

import psutil
from filelock import FileLock

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError

LOOPBACK = "127.0.0.1"

FIRST, LAST = 20_000, 32_000
"""Below the range from which the kernel takes ports for outgoing connections, so that none of those occupies a port
between its choice and its use."""

BESIDE = range(LAST, 32_768)
"""For schedulers beside a control plane: between its ports and those of outgoing connections."""

RESERVED_S = 60.0
"""For so long a port that was chosen is left to whoever chose it."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The port of each component."""

    kube_apiserver: int
    etcd: int
    etcd_peer: int
    kube_controller_manager: int
    kwok_controller: int

    def all(self) -> list[int]:
        """Return the ports."""
        return list(asdict(self).values())


def choose_ports(api_port: int | None, taken: Collection[int], start: int) -> Ports:
    """Choose free ports that no other cluster has ``taken``, the API server's own if one was asked for."""
    if api_port is not None and (api_port in taken or not _is_free(api_port)):
        raise StowageError(
            f"port {api_port} of {LOOPBACK} is in use by {_holder(api_port)}; "
            "name another with --port, or leave it out to get a free one"
        )
    asked = [] if api_port is None else [api_port]
    number = len(Ports.__slots__) - len(asked)
    return Ports(*asked, *_reserve(range(FIRST, LAST), start, number, {*taken, *asked}))


def port_beside(cluster: str) -> int:
    """Return a free port for a process beside a cluster; clusters begin to look at different places."""
    (port,) = _reserve(BESIDE, crc32(cluster.encode()), 1)
    return port


def _reserve(ports: range, start: int, number: int, taken: Collection[int] = ()) -> list[int]:
    """Return the first that are free and were not chosen in the last minute, as they are bound seconds later."""
    folder = layout.cache_folder() / "ports"
    folder.mkdir(parents=True, exist_ok=True)
    chosen: list[int] = []
    first = start % len(ports)
    with FileLock(folder / ".lock"):
        for mark in folder.glob("[0-9]*"):
            if time.time() - mark.stat().st_mtime > RESERVED_S:
                mark.unlink()
        for port in chain(ports[first:], ports[:first]):
            mark = folder / str(port)
            if port not in taken and not mark.exists() and _is_free(port):
                mark.touch()
                chosen.append(port)
            if len(chosen) == number:
                return chosen
    raise StowageError(
        f"no free port between {ports.start} and {ports.stop}; run: stowage down --stale, or stop what holds them"
    )


def listens(port: int) -> bool:
    """Return whether anybody listens on a port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the servers do: a port whose last connection lingers can be bound.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _holder(port: int) -> str:
    for connection in psutil.net_connections("tcp"):
        if connection.status != psutil.CONN_LISTEN or not connection.laddr:
            continue
        if connection.laddr.port != port or connection.pid is None:
            continue
        try:
            return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
        except psutil.NoSuchProcess:
            break
    return "another user's process, or a cluster that is starting"
