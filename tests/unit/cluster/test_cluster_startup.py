"""A cluster that does not come up says what was waited for, and what that said."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.components import (
    CONTROL_PLANE,
    HOST_PODS,
    log_file,
    pid_file,
)
from stowage_testbed.cluster.ports import Ports
from stowage_testbed.cluster.startup import Startup
from stowage_testbed.toolchain.location import binary_file
from stowage_testbed.toolchain.manifest import load_manifest

KWOKCTL = "kwokctl"
SHORT_S = 0.2


class ApiServer(BaseHTTPRequestHandler):
    """Is ready, and has nothing that a controller or a kubelet would write."""

    def do_GET(self) -> None:
        """Answer what a starting cluster asks."""
        ready = self.path == "/readyz"
        body = b"ok" if ready else json.dumps({"items": []}).encode()
        self.send_response(404 if "/leases/" in self.path else 200)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(pki: Path) -> Iterator[int]:
    """Serve over TLS, and write what an administrator asks with."""
    pki.mkdir()
    authority = trustme.CA()
    authority.cert_pem.write_to_path(pki / "ca.crt")
    admin = authority.issue_cert("admin")
    admin.cert_chain_pems[0].write_to_path(pki / "admin.crt")
    admin.private_key_pem.write_to_path(pki / "admin.key")
    server = ThreadingHTTPServer(("127.0.0.1", 0), ApiServer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def startup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Startup]:
    """Yield a cluster of which everything runs, and does nothing."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path / "cache"))
    kwokctl = binary_file(load_manifest().tool(KWOKCTL))
    kwokctl.parent.mkdir(parents=True)
    kwokctl.write_text(f"#!/bin/sh\necho said by {KWOKCTL}\n")
    kwokctl.chmod(0o755)
    workdir = tmp_path / "one"
    for folder in ("logs", "pids"):
        (workdir / folder).mkdir(parents=True)
    idle = subprocess.Popen(["sleep", "600"])
    for component in (*CONTROL_PLANE, HOST_PODS):
        log_file(workdir, component).write_text(f"said by {component}\n")
        pid_file(workdir, component).write_text(str(idle.pid))
    with serving(workdir / "pki") as port, socket.create_server(("", 0)) as kwok:
        ports = Ports(port, 0, 0, 0, kwok.getsockname()[1])
        yield Startup(workdir, tmp_path / "config", ports, HANG_S)
    idle.kill()
    idle.wait()


def await_components(startup: Startup) -> None:
    os.remove(pid_file(startup.workdir, CONTROL_PLANE[0]))
    startup.timeout_s = SHORT_S
    startup.start()


def await_accounts(startup: Startup) -> None:
    startup.start()
    startup.timeout_s = SHORT_S
    startup.settle()


def await_host_node(startup: Startup) -> None:
    startup.start()
    startup.timeout_s = SHORT_S
    startup.await_host_node()


@pytest.mark.parametrize(
    ("wait", "what", "component"),
    [
        (await_components, "the components", KWOKCTL),
        (await_accounts, "default service accounts", "kube-controller-manager"),
        (await_host_node, "the host's node", HOST_PODS),
    ],
)
def test_the_log_of_what_was_waited_for_is_quoted(
    startup: Startup, wait: object, what: str, component: str
) -> None:
    """That of the API server, which is well, sends whoever reads it astray."""
    assert callable(wait)

    with pytest.raises(StowageError) as caught:
        wait(startup)

    said = str(caught.value)
    assert f"for {what};" in said
    assert f"The last lines of {component}:\n  said by {component}\n" in said
    assert said.count("said by") == 1
