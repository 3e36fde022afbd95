"""The chart's release on host pods: ready when it says so, gone when removed."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import ApiException, AppsV1Api, AuthenticationV1Api
from release_environment import ReleaseEnvironment, is_ready, processes_in

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.helm import Release, install_release, uninstall_release
from stowage_testbed.helm.command import helm_folder, run_helm
from stowage_testbed.helm.install import CHART
from stowage_testbed.toolchain import tool_path

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]


def test_installed_means_ready(
    release: Release, environment: ReleaseEnvironment
) -> None:
    """`helm --wait` waits for the readiness probes of real processes."""
    deployment = AppsV1Api(environment.client).read_namespaced_deployment(
        release.name, release.namespace
    )
    (pod,) = release.pods()

    assert deployment.status is not None
    assert deployment.status.available_replicas == 1
    assert is_ready(pod)
    assert {s.name: s.started for s in pod.status.container_statuses} == {
        "scheduler": True,
        "optimizer": True,
    }
    for pid in release.process_ids().values():
        os.kill(pid, 0)
    assert "Serving securely on 127.0.0.1" in (
        release.log_files()["scheduler"].read_text()
    )
    assert "serving" in release.log_files()["optimizer"].read_text()


def test_the_scheduler_holds_a_token_of_its_own_pod(
    release: Release, environment: ReleaseEnvironment
) -> None:
    """Its rights are those of the chart, not those of the testbed."""
    token = (environment.cluster.workdir / "mnt" / "credentials" / "token").read_text()
    reviews: Any = AuthenticationV1Api(environment.client)

    answer = reviews.create_token_review({"spec": {"token": token}}).status

    (pod,) = release.pods()
    assert answer.user.username == "system:serviceaccount:stowage-system:stowage"
    extra = answer.user.extra
    assert extra["authentication.kubernetes.io/pod-uid"] == [pod.metadata.uid]


def test_the_optimiser_is_given_no_credentials(release: Release) -> None:
    """Nothing in its environment, and no kubeconfig in its arguments."""
    pid = release.process_ids()["optimizer"]
    environ = Path(f"/proc/{pid}/environ").read_text()
    names = {entry.split("=")[0] for entry in environ.split("\0")}

    assert not {name for name in names if "TOKEN" in name or name == "KUBECONFIG"}


def test_a_pod_is_placed_by_the_release(
    release: Release, environment: ReleaseEnvironment
) -> None:
    """The cluster has no other scheduler."""
    environment.core.create_namespaced_pod("default", a_small_pod("placed"))

    pod = environment.until("placed", "to be bound", lambda pod: pod.spec.node_name)

    assert pod.spec.node_name == "fake-0"
    environment.remove("placed")


def test_a_crashed_container_comes_back(release: Release) -> None:
    """The optimiser may die; the scheduler goes on, and the pod recovers."""

    def look() -> dict[str, tuple[int, bool]]:
        (pod,) = release.pods()
        return {
            s.name: (s.restart_count, s.ready) for s in pod.status.container_statuses
        }

    before = look()
    os.kill(release.process_ids()["optimizer"], signal.SIGKILL)

    after = wait_until(
        "the optimiser to be back",
        look,
        lambda now: now["optimizer"] == (before["optimizer"][0] + 1, True),
        timeout_s=HANG_S,
    )

    assert after["scheduler"] == before["scheduler"]
    (pod,) = release.pods()
    ended = {s.name: s.last_state.terminated for s in pod.status.container_statuses}
    assert ended["optimizer"].exit_code == 137


def test_the_namespace_refuses_pods_outside_the_restricted_standard(
    release: Release, environment: ReleaseEnvironment
) -> None:
    """So the release's own pod has passed it."""
    body = a_small_pod("privileged")
    body["spec"]["containers"][0]["securityContext"] = {"privileged": True}

    with pytest.raises(ApiException, match="violates PodSecurity") as refused:
        environment.core.create_namespaced_pod(release.namespace, body)

    assert refused.value.status == 403


def test_another_profile_replaces_the_scheduler(
    release: Release, environment: ReleaseEnvironment
) -> None:
    """A scenario runs the same workload under several profiles."""
    before = release.process_ids()["scheduler"]

    install_release(
        environment.cluster, profile="deterministic", optimizer_enabled=False
    )

    (pod,) = release.pods()
    assert is_ready(pod)
    assert release.process_ids().keys() == {"scheduler"}
    assert release.process_ids()["scheduler"] != before
    install_release(environment.cluster, profile="optimizer", optimizer_enabled=True)


def test_values_that_the_chart_refuses_are_named(
    environment: ReleaseEnvironment,
) -> None:
    """The schema's message has to reach whoever wrote the value."""
    with pytest.raises(StowageError) as refused:
        install_release(
            environment.cluster,
            profile="deterministic",
            optimizer_enabled=True,
            values={"optimizer": {"workers": -1}, "colour": "red"},
            name="refused",
        )

    assert "the chart refuses the values" in str(refused.value)
    assert "'/optimizer/workers': minimum: got -1" in str(refused.value)
    assert "'colour' not allowed" in str(refused.value)


def test_a_helm_that_was_killed_does_not_lock_the_release(
    environment: ReleaseEnvironment,
) -> None:
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
            timeout_s=HANG_S,
        )
        helm.kill()

    install_release(environment.cluster, profile="optimizer", optimizer_enabled=True)

    assert is_ready(release.pods()[0])


def test_an_uninstalled_release_leaves_no_process(
    environment: ReleaseEnvironment,
) -> None:
    """The next scenario must find an empty machine."""
    release = install_release(
        environment.cluster, profile="optimizer", optimizer_enabled=True
    )
    pids = release.process_ids().values()
    folder = release.pod_folder()
    assert folder is not None

    uninstall_release(release)

    assert processes_in(folder) == []
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    mounts = environment.cluster.workdir / "mnt"
    assert not [path for path in mounts.rglob("*") if path.is_symlink()]


def a_small_pod(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none"}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}
