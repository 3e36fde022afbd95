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

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.kwokctl_config import ETCD_SOCKET

NO_SPACE = "NOSPACE"
"""The alarm of an etcd that has reached its quota: it takes no more writes."""

_TIMEOUT_S = 1.0
_WORK_TIMEOUT_S = 30.0
"""Of a defragmentation, which copies the whole database."""


def etcd_health(workdir: Path) -> dict[str, Any]:
    """Return what etcd says of itself; it answers also while it takes no writes.

    Raises
    ------
    OSError, ValueError, http.client.HTTPException
        There is no answer that can be read.
    """
    return _ask(workdir, "GET", "/health?serializable=true", None, _TIMEOUT_S)


def raise_no_space(workdir: Path) -> None:
    """Have etcd behave as when its quota is reached.

    The alarm is the one that an etcd raises by itself when its database has grown too
    large. Until it is disarmed, every write is refused.

    Raises
    ------
    StowageError
        It has not done so.
    """
    _alarm(workdir, "ACTIVATE")


def make_room(workdir: Path) -> None:
    """End the alarm as etcd's manual says: compact, defragment, disarm.

    Raises
    ------
    StowageError
        It has not ended.
    """
    # Any key will do: every answer tells the revision.
    now = _call(workdir, "kv/range", {"key": "AA=="})["header"]["revision"]
    _call(workdir, "kv/compaction", {"revision": now, "physical": True})
    _call(workdir, "maintenance/defragment", {})
    _alarm(workdir, "DEACTIVATE")


def _alarm(workdir: Path, action: str) -> None:
    # Member 0 is every member.
    order = {"action": action, "memberID": "0", "alarm": NO_SPACE}
    _call(workdir, "maintenance/alarm", order)


def _call(workdir: Path, method: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Call a method of etcd's API through its JSON gateway."""
    try:
        return _ask(workdir, "POST", f"/v3/{method}", request, _WORK_TIMEOUT_S)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise StowageError(
            f"etcd did not do {method} ({error}); see its log in {workdir / 'logs'}"
        ) from error


def _ask(
    workdir: Path,
    verb: str,
    path: str,
    body: Mapping[str, Any] | None,
    timeout_s: float,
) -> dict[str, Any]:
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
