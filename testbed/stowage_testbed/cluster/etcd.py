"""Etcd, asked by plain HTTP through the socket in the cluster's folder."""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from stowage_testbed.cluster.kwokctl_config import ETCD_SOCKET

NO_SPACE = "NOSPACE"
"""The alarm of an etcd that has reached its quota: it takes no more writes."""

_TIMEOUT_S = 1.0


def etcd_health(workdir: Path) -> dict[str, Any]:
    """Return what etcd says of itself; it answers also while it takes no writes."""
    return ask_etcd(workdir, "GET", "/health?serializable=true", None, _TIMEOUT_S)


def ask_etcd(workdir: Path, verb: str, path: str, body: Mapping[str, Any] | None, timeout_s: float) -> dict[str, Any]:
    """Return etcd's answer to one request, in JSON both; raises as `etcd_health`."""
    with closing(_Connection(workdir, timeout_s)) as connection:
        connection.request(verb, path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        text = response.read()
    if verb == "POST" and response.status != http.HTTPStatus.OK:
        raise http.client.HTTPException(f"{path}: {response.status}: {text.decode()}")
    answer: dict[str, Any] = json.loads(text)
    return answer


class _Connection(http.client.HTTPConnection):
    """HTTP through etcd's socket."""

    def __init__(self, workdir: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._workdir = workdir

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        # The whole path may be longer than a socket's may.
        folder = os.open(self._workdir, os.O_PATH)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{ETCD_SOCKET}")
        finally:
            os.close(folder)
