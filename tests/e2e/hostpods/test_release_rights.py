"""The chart's rights are enforced, sufficient, and each of them needed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kubernetes.client import AuthorizationV1Api, RbacAuthorizationV1Api
from release_environment import ReleaseEnvironment, is_ready

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.helm import Release
from stowage_testbed.helm.diagnosis import diagnose

pytestmark = pytest.mark.e2e

ROLE = "stowage-system:stowage"
ACCOUNT = "system:serviceaccount:stowage-system:stowage"

READ = ("list", "watch")
NEEDED = {
    ("", "nodes"): (*READ, "patch"),
    ("", "pods"): READ,
    ("", "namespaces"): READ,
    ("", "services"): READ,
    ("", "replicationcontrollers"): READ,
    ("", "persistentvolumes"): READ,
    ("", "persistentvolumeclaims"): READ,
    ("apps", "replicasets"): READ,
    ("apps", "statefulsets"): READ,
    ("apps", "deployments"): READ,
    ("", "resourcequotas"): READ,
    ("", "limitranges"): READ,
    ("policy", "poddisruptionbudgets"): READ,
    ("storage.k8s.io", "csidrivers"): READ,
    ("storage.k8s.io", "csinodes"): READ,
    ("storage.k8s.io", "csistoragecapacities"): READ,
    ("storage.k8s.io", "storageclasses"): READ,
    ("storage.k8s.io", "volumeattachments"): READ,
    ("resource.k8s.io", "deviceclasses"): READ,
    ("resource.k8s.io", "resourceclaims"): READ,
    ("resource.k8s.io", "resourceslices"): READ,
    ("stowage.dev", "packingplans"): (*READ, "create", "delete", "patch"),
    ("stowage.dev", "packingplans/status"): ("patch", "update"),
    ("stowage.dev", "packingpolicies"): READ,
    ("stowage.dev", "packingpolicies/status"): ("patch", "update"),
    ("stowage.dev", "reservations"): (*READ, "delete"),
    ("stowage.dev", "reservations/status"): ("patch", "update"),
    ("", "pods/binding"): ("create",),
    ("", "pods/eviction"): ("create",),
    ("", "pods/status"): ("patch",),
    ("events.k8s.io", "events"): ("create", "patch"),
}
"""Written down here a second time, so that taking one out of the chart fails."""

FORBIDDEN = {
    ("", "pods"): ("delete", "deletecollection", "create", "update", "patch"),
    ("", "secrets"): ("get", "list", "watch"),
    ("", "nodes"): ("update", "delete"),
    ("apps", "replicasets"): ("update", "delete"),
    ("apps", "deployments"): ("get", "update", "patch", "delete"),
    ("batch", "jobs"): ("list", "watch"),
    ("", "resourcequotas"): ("get", "update", "patch", "delete"),
    ("rbac.authorization.k8s.io", "clusterroles"): ("create", "update", "escalate"),
}


def allowed(
    environment: ReleaseEnvironment, group: str, resource: str, verb: str
) -> bool:
    """Ask the API server whether the release's account may do something."""
    kind, _, part = resource.partition("/")
    attributes = {"group": group, "resource": kind, "verb": verb, "subresource": part}
    body = {"spec": {"user": ACCOUNT, "resourceAttributes": attributes}}
    answer = AuthorizationV1Api(environment.client).create_subject_access_review(body)  # type: ignore[arg-type] # a plain object does as well
    assert answer.status is not None
    return bool(answer.status.allowed)


@pytest.mark.usefixtures("release")
@pytest.mark.parametrize(("group", "resource"), NEEDED)
def test_every_needed_right_is_granted(
    environment: ReleaseEnvironment, group: str, resource: str
) -> None:
    """One that is missing breaks the scheduler only when it is first used."""
    verbs = NEEDED[group, resource]

    assert {verb: allowed(environment, group, resource, verb) for verb in verbs} == (
        dict.fromkeys(verbs, True)
    )


@pytest.mark.usefixtures("release")
@pytest.mark.parametrize(("group", "resource"), FORBIDDEN)
def test_nothing_beyond_is_granted(
    environment: ReleaseEnvironment, group: str, resource: str
) -> None:
    """What the role does not say, no other binding may add."""
    verbs = FORBIDDEN[group, resource]

    assert not any(allowed(environment, group, resource, verb) for verb in verbs)


def test_the_release_is_never_refused_anything(
    release: Release, environment: ReleaseEnvironment
) -> None:
    """A placement, a failed placement and a plan, without one 403."""
    for name, cpu in (("fits", "100m"), ("too-large", "100")):
        environment.core.create_namespaced_pod("default", a_pod(name, cpu))
    environment.until("fits", "to be bound", lambda pod: pod.spec.node_name)
    environment.until(
        "too-large",
        "to be unschedulable",
        lambda pod: (
            "Unschedulable"
            in [condition.reason for condition in pod.status.conditions or ()]
        ),
    )
    log = release.log_files()["scheduler"]
    for name in ("fits", "too-large"):
        environment.remove(name)

    assert [line for line in log.read_text().splitlines() if "forbidden" in line] == []
    refused = [
        (entry["verb"], entry["objectRef"])
        for line in environment.cluster.audit_log.read_text().splitlines()
        if ACCOUNT in line
        for entry in [json.loads(line)]
        if entry["user"]["username"] == ACCOUNT
        and entry["responseStatus"]["code"] == 403
    ]
    assert refused == []


@contextmanager
def without_rule(environment: ReleaseEnvironment, resource: str) -> Iterator[None]:
    """Take the one rule of the release's role that names a resource away."""
    rbac: Any = RbacAuthorizationV1Api(environment.client)
    role = rbac.read_cluster_role(ROLE)
    crippled = copy.deepcopy(role)
    crippled.rules = [r for r in role.rules if resource not in r.resources]
    assert len(crippled.rules) == len(role.rules) - 1
    for one in (role, crippled):
        one.metadata.resource_version = None
    rbac.replace_cluster_role(ROLE, crippled)
    try:
        yield
    finally:
        rbac.replace_cluster_role(ROLE, role)


def test_without_the_right_to_bind_no_pod_is_placed(
    release: Release, environment: ReleaseEnvironment
) -> None:
    """The role is what lets the scheduler work, and nothing else does."""
    with without_rule(environment, "pods/binding"):
        wait_until(
            "the right to be gone",
            lambda: allowed(environment, "", "pods/binding", "create"),
            lambda may: not may,
            timeout_s=HANG_S,
        )
        environment.core.create_namespaced_pod("default", a_pod("unbound", "100m"))
        log = release.log_files()["scheduler"]

        wait_until(
            "the scheduler to be refused",
            log.read_text,
            lambda text: "pods/binding" in text and "forbidden" in text,
            timeout_s=HANG_S,
        )

        assert environment.pod("default", "unbound").spec.node_name is None
    environment.until(
        "unbound", "to be bound after all", lambda pod: pod.spec.node_name
    )
    environment.remove("unbound")


def test_without_the_right_to_watch_the_release_is_not_ready(
    environment: ReleaseEnvironment,
) -> None:
    """Readiness means that the scheduler sees all that placements depend on."""
    release = Release(environment.cluster, "stowage", "stowage-system")
    pods = release.pods()
    with without_rule(environment, "csinodes"):
        environment.core.delete_namespaced_pod(pods[0].metadata.name, "stowage-system")

        wait_until(
            "the new scheduler to be refused a watch",
            lambda: refusals(release, pods[0].metadata.uid),
            lambda text: "csinodes" in text,
            timeout_s=HANG_S,
        )

        assert not is_ready(release.pods()[0])
        wait_until(
            "the status to say what is not ready",
            lambda: diagnose(release),
            lambda text: "scheduler: startup probe failed" in text and "readyz" in text,
            timeout_s=HANG_S,
        )
    wait_until(
        "the release to recover",
        lambda: [s.ready for s in release.pods()[0].status.container_statuses or ()],
        lambda ready: ready == [True, True],
        timeout_s=60,
    )


def refusals(release: Release, former_uid: str) -> str:
    """Return what the newest pod's scheduler was refused."""
    pods = release.pods()
    if not pods or pods[0].metadata.uid == former_uid:
        return ""
    log = release.log_files().get("scheduler")
    lines = log.read_text().splitlines() if log else []
    return "\n".join(line for line in lines if "forbidden" in line)


def a_pod(name: str, cpu: str) -> dict[str, Any]:
    requests = {"requests": {"cpu": cpu}}
    container = {"name": "main", "image": "none", "resources": requests}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}
