"""A cluster that does not come up says what was waited for, and what that said."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.api_probe import ApiProbe
from stowage_testbed.cluster.components import CONTROL_PLANE, HOST_PODS, log_file, pid_file
from stowage_testbed.cluster.ports import Ports
from stowage_testbed.cluster.startup import Startup
from stowage_testbed.toolchain.location import binary_file
from stowage_testbed.toolchain.manifest import load_manifest

KWOKCTL = "kwokctl"
SHORT_S = 0.2
# It is ready, and has nothing that a controller or a kubelet would write.
PROBE = SimpleNamespace(
    ready=lambda: "ok", namespaces_without_account=lambda: ["default"], has_lease=lambda _node: False
)


@pytest.fixture
def startup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Startup]:
    """Yield a cluster of which everything runs, and does nothing."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ApiProbe, "of", lambda *_: PROBE)
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
    with socket.create_server(("", 0)) as kwok:
        ports = Ports(0, 0, 0, 0, kwok.getsockname()[1])
        yield Startup(workdir, tmp_path / "config", ports, HANG_S)
    idle.kill()
    idle.wait()


@pytest.mark.parametrize(
    ("wait", "what", "component"),
    [
        ("start", "the components", KWOKCTL),
        ("settle", "default service accounts", "kube-controller-manager"),
        ("await_host_node", "the host's node", HOST_PODS),
    ],
)
def test_the_log_of_what_was_waited_for_is_quoted(startup: Startup, wait: str, what: str, component: str) -> None:
    """That of the API server, which is well, sends whoever reads it astray."""
    if wait == "start":
        os.remove(pid_file(startup.workdir, CONTROL_PLANE[0]))
    else:
        startup.start()
    startup.timeout_s = SHORT_S
    with pytest.raises(StowageError) as caught:
        getattr(startup, wait)()

    said = str(caught.value)
    assert f"for {what};" in said
    assert f"The last lines of {component}:\n  said by {component}\n" in said
    assert said.count("said by") == 1
