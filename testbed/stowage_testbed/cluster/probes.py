"""Ask a control plane how it is: its API server, and its etcd."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.kwokctl_config import ETCD_SOCKET
from stowage_testbed.cluster.ports import LOOPBACK

_TIMEOUT_S = 30.0
_ACCOUNTS = "/api/v1/serviceaccounts?fieldSelector=metadata.name%3Ddefault"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_NAMESPACES = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


class ApiProbe:
    """Asks single things as the administrator of the cluster in ``workdir``, whose certificates exist."""

    def __init__(self, workdir: Path, port: int) -> None:
        pki = workdir / "pki"
        self._port = port
        self._context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._context.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def ready(self) -> str:
        """Return "ok" once the API server is ready, and what it says before."""
        status, body = self.ask("/readyz")
        if not status:
            return f"no answer from the API server ({body})"
        return body if status == http.HTTPStatus.OK else f"not ready: {body}"

    def namespaces_without_account(self) -> frozenset[str]:
        """Return the first namespaces that lack their default service account."""
        status, body = self.ask(_ACCOUNTS)
        items = json.loads(body)["items"] if status == http.HTTPStatus.OK else ()
        return _NAMESPACES - {item["metadata"]["namespace"] for item in items}

    def has_lease(self, node: str) -> bool:
        """Return whether a node has reported, which its kubelet ends with a lease."""
        return self.ask(f"{_LEASES}/{node}")[0] == http.HTTPStatus.OK

    def release_nodes(self, kept: str) -> None:
        """Delete the leases on all nodes but the one ``kept``."""
        status, body = self.ask(f"{_LEASES}?fieldSelector=metadata.name%21%3D{kept}", "DELETE")
        if status != http.HTTPStatus.OK:
            raise StowageError(
                f"the leases on the fake nodes cannot be deleted ({body}), and until "
                "they run out a new KWOK leaves the nodes alone; start the cluster anew"
            )

    def ask(self, path: str, verb: str = "GET") -> tuple[int, str]:
        """Return status and body of the answer; 0 and why there is none."""
        connection = http.client.HTTPSConnection(LOOPBACK, self._port, timeout=_TIMEOUT_S, context=self._context)
        try:
            with closing(connection):
                connection.request(verb, path)
                response = connection.getresponse()
                return response.status, response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)


NO_SPACE = "NOSPACE"
"""The alarm of an etcd that has reached its quota: it takes no more writes."""


def ask_etcd(workdir: Path, verb: str, path: str, body: Mapping[str, Any] | None, timeout_s: float) -> dict[str, Any]:
    """Return etcd's answer to one request, in JSON both; an OSError, ValueError or HTTPException without one."""
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
