"""Whether a release serves pods with no more rights than it was given."""

from __future__ import annotations

from typing import Any

from release_environment import ReleaseEnvironment, is_ready

from stowage_testbed.helm import Release
from stowage_testbed.observe.audit import find_audit_end, read_audit_entries

ACCOUNT = "system:serviceaccount:stowage-system:stowage"


def check_release_serves(environment: ReleaseEnvironment, release: Release) -> None:
    """Have it place a pod and fail to place one, and look whether it was refused."""
    audit = environment.cluster.audit_log
    began = find_audit_end(audit)
    for name, cpu in (("plain", "0"), ("too-large", "100")):
        container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
        spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
        body = {"metadata": {"name": name}, "spec": spec}
        environment.core.create_namespaced_pod("default", body)
    environment.until("plain", "to be placed", lambda pod: pod.spec.node_name)
    environment.until("too-large", "to be unschedulable", _is_unschedulable)
    for name in ("plain", "too-large"):
        environment.remove(name)

    log = release.log_files()["scheduler"].read_text()
    (pod,) = release.pods()
    assert is_ready(pod)
    assert [line for line in log.splitlines() if "forbidden" in line] == []
    entries = read_audit_entries(audit, began)
    assert [one for one in entries if one.user == ACCOUNT and one.code == 403] == []


def _is_unschedulable(pod: Any) -> bool:
    conditions = pod.status.conditions or ()
    return any(one.reason == "Unschedulable" for one in conditions)
