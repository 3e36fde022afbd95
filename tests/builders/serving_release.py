"""Whether a release serves pods with no more rights than it was given."""

from __future__ import annotations

from release_environment import ReleaseEnvironment, is_ready

from stowage_testbed.helm import Release


def check_release_serves(environment: ReleaseEnvironment, release: Release) -> None:
    """Have the release place a pod, and look whether it was refused anything."""
    container = {"name": "c", "image": "none"}
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    body = {"metadata": {"name": "plain"}, "spec": spec}
    environment.core.create_namespaced_pod("default", body)
    environment.until("plain", "to be placed", lambda pod: pod.spec.node_name)
    environment.remove("plain")

    log = release.log_files()["scheduler"].read_text()
    (pod,) = release.pods()
    assert is_ready(pod)
    assert [line for line in log.splitlines() if "forbidden" in line] == []
