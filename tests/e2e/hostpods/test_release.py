"""The chart's release on host pods: ready when it says so, gone when removed."""

import copy
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from amounts import size
from kubernetes.client import ApiException, AuthenticationV1Api, RbacAuthorizationV1Api
from release_environment import ReleaseEnvironment, is_ready

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import NodePool, create_nodes
from stowage_testbed.helm import Release, install_release
from stowage_testbed.helm.install import CHART
from stowage_testbed.helm.release import helm_folder, run_helm
from stowage_testbed.helm.serving import await_node_seen, diagnose
from stowage_testbed.toolchain import tool_path

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]


def test_installed_means_ready(release: Release) -> None:
    """`helm --wait` waits for the readiness probes of real processes."""
    (pod,) = release.pods()

    assert is_ready(pod)
    assert release.process_ids().keys() == {"scheduler", "optimizer"}
    assert "Serving securely on 127.0.0.1" in (release.log_files()["scheduler"].read_text())
    assert "serving" in release.log_files()["optimizer"].read_text()


def test_the_scheduler_holds_a_token_of_its_own_pod(release: Release, environment: ReleaseEnvironment) -> None:
    """Its rights are those of the chart, not those of the testbed."""
    token = (environment.cluster.workdir / "mnt" / "credentials" / "token").read_text()
    reviews: Any = AuthenticationV1Api(environment.client)

    answer = reviews.create_token_review({"spec": {"token": token}}).status

    (pod,) = release.pods()
    assert answer.user.username == "system:serviceaccount:stowage-system:stowage"
    extra = answer.user.extra
    assert extra["authentication.kubernetes.io/pod-uid"] == [pod.metadata.uid]


def test_a_crashed_container_comes_back(release: Release) -> None:
    """The optimiser may die; the scheduler goes on, and the pod recovers."""

    def look() -> dict[str, tuple[int, bool]]:
        (pod,) = release.pods()
        return {s.name: (s.restart_count, s.ready) for s in pod.status.container_statuses}

    before = look()
    os.kill(release.process_ids()["optimizer"], signal.SIGKILL)

    after = wait_until(
        "the optimiser to be back", look, lambda now: now["optimizer"] == (before["optimizer"][0] + 1, True)
    )

    assert after["scheduler"] == before["scheduler"]
    (pod,) = release.pods()
    ended = {s.name: s.last_state.terminated for s in pod.status.container_statuses}
    assert ended["optimizer"].exit_code == 137


def test_a_node_counts_as_seen_once_the_scheduler_has_it(release: Release, environment: ReleaseEnvironment) -> None:
    """A scheduler that wakes up takes new pods and new nodes in any order, and would place the pods on other nodes."""

    def list_probes() -> list[str]:
        names = [pod.metadata.name for pod in environment.core.list_namespaced_pod(release.namespace).items]
        return [name for name in names if name.startswith("node-probe-")]

    scheduler = release.process_ids()["scheduler"]
    os.kill(scheduler, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as executor:
        try:
            (node,) = create_nodes(environment.client, [NodePool("late", 1, size(2000, 2**32))])
            seen = executor.submit(await_node_seen, release, node, "default-scheduler")
            wait_until("the probe to be created", list_probes, bool)
            assert not seen.done()
        finally:
            os.kill(scheduler, signal.SIGCONT)
        seen.result(HANG_S)
    environment.core.delete_node(node)

    assert not list_probes()


def test_without_the_right_to_watch_the_release_is_not_ready(release: Release, environment: ReleaseEnvironment) -> None:
    """Readiness means that the scheduler sees all that placements depend on."""
    rbac: Any = RbacAuthorizationV1Api(environment.client)
    role = rbac.read_cluster_role("stowage-system:stowage")
    role.metadata.resource_version = None
    lacking = copy.deepcopy(role)
    lacking.rules = [one for one in role.rules if "csinodes" not in one.resources]
    assert len(lacking.rules) == len(role.rules) - 1
    (pod,) = release.pods()
    rbac.replace_cluster_role(role.metadata.name, lacking)
    try:
        environment.core.delete_namespaced_pod(pod.metadata.name, release.namespace)
        wait_until(
            "the status to say what is not ready",
            lambda: diagnose(release),
            lambda text: "scheduler: startup probe failed" in text and "readyz" in text,
        )
        assert not is_ready(release.pods()[0])
    finally:
        rbac.replace_cluster_role(role.metadata.name, role)
    wait_until(
        "the release to recover",
        lambda: [s.ready for s in release.pods()[0].status.container_statuses or ()],
        lambda ready: ready == [True, True],
    )


def test_the_namespace_refuses_pods_outside_the_restricted_standard(
    release: Release, environment: ReleaseEnvironment
) -> None:
    """So the release's own pod has passed it."""
    context = {"securityContext": {"privileged": True}}
    container = {"name": "main", "image": "none", **context}
    body = {"metadata": {"name": "wild"}, "spec": {"containers": [container]}}

    with pytest.raises(ApiException, match="violates PodSecurity"):
        environment.core.create_namespaced_pod(release.namespace, body)


def test_a_helm_that_was_killed_does_not_lock_the_release(environment: ReleaseEnvironment) -> None:
    """Killing a run at any second and starting it again must work."""
    release = Release(environment.cluster, "stowage", "stowage-system")
    values = helm_folder(environment.cluster) / "stowage-system-stowage.yaml"
    history = ["history", release.name, "--namespace", release.namespace]
    arguments = ["upgrade", release.name, str(CHART), "--install", "--wait"]
    arguments += ["--namespace", release.namespace, "--values", str(values)]
    # This change never becomes ready, so Helm is surely in the middle of it.
    arguments += ["--set", "scheduler.command={/no/such}"]
    with subprocess.Popen(
        [str(tool_path("helm")), *arguments],
        env={"HOME": "/nonexistent", "KUBECONFIG": str(environment.cluster.kubeconfig)},
        stdout=subprocess.DEVNULL,
    ) as helm:
        wait_until(
            "Helm to have begun",
            lambda: run_helm(environment.cluster, history, 10).stdout,
            lambda shown: "pending-" in shown,
        )
        helm.kill()

    install_release(environment.cluster, profile="optimizer", optimizer_enabled=True)

    assert is_ready(release.pods()[0])
