"""Pods of the host node, on a live cluster."""

import os
import signal

import psutil
import pytest
from release_environment import ReleaseEnvironment, is_ready, processes_in, state

from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster.components import HOST_PODS, component_process, pid_file, start_host_pods

pytestmark = pytest.mark.e2e

SLEEP = {"name": "main", "image": "none", "command": ["sleep", "600"]}


def test_a_pod_waits_for_its_config_map_and_says_so(environment: ReleaseEnvironment) -> None:
    """Objects may be created in any order."""
    path = environment.cluster.workdir / "mnt" / "late"
    container = {
        **SLEEP,
        "command": ["sh", "-c", f"cat {path}/greeting && exec sleep 600"],
        "volumeMounts": [{"name": "v", "mountPath": str(path)}],
    }
    volume = {"name": "v", "configMap": {"name": "late"}}
    environment.host_pod("waits", [container], volumes=[volume])
    waiting = environment.until("waits", "to wait", lambda pod: state(pod) and state(pod).waiting.message)
    assert state(waiting).waiting.reason == "VolumeNotReady"
    assert "ConfigMap default/late" in state(waiting).waiting.message

    body = {"metadata": {"name": "late"}, "data": {"greeting": "hello"}}
    environment.core.create_namespaced_config_map("default", body)

    environment.until("waits", "to be Ready", is_ready)
    environment.remove("waits")
    assert not path.is_symlink()


def test_processes_end_with_the_daemon_and_come_back_with_it(environment: ReleaseEnvironment) -> None:
    """Neither an interrupted run nor a restart may leave two of anything."""
    workdir = environment.cluster.workdir
    environment.host_pod("comes-back", [SLEEP])
    before = environment.until("comes-back", "to be Ready", is_ready)
    folder = workdir / "hostpods" / before.metadata.uid[:8]
    pid = int((folder / "main.pid").read_text())
    daemon = component_process(workdir, HOST_PODS)
    assert daemon is not None

    for number in (signal.SIGKILL, signal.SIGTERM):
        os.kill(int(pid_file(workdir, HOST_PODS).read_text()), number)
        wait_until("every process of the pod to end", lambda: processes_in(folder.parent), lambda alive: not alive)
        # Who adopts an ended process takes a moment to look after it.
        wait_until(
            f"process {pid} to be gone",
            lambda pid=pid: psutil.pid_exists(pid),  # type: ignore[misc]
            lambda exists: not exists,
        )
        wait_until("the daemon to end", lambda: component_process(workdir, HOST_PODS), lambda process: process is None)
        start_host_pods(workdir, environment.cluster.kubeconfig)
        former = pid
        pid = wait_until(
            "the pod's new process",
            lambda: int((folder / "main.pid").read_text()),
            lambda new, former=former: new != former,  # type: ignore[misc]
        )

    pod = environment.until(
        "comes-back", "to have been restarted twice", lambda pod: pod.status.container_statuses[0].restart_count == 2
    )
    assert pod.metadata.uid == before.metadata.uid
    environment.remove("comes-back")
