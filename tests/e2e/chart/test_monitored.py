"""A release that is scraped as Prometheus does it, and `helm test`."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from chart_expressions import GUIDE, expressions, names_in
from helm_environment import NAMESPACE, RELEASE, HelmEnvironment

from docs.tooling.metrics import go_files, optimizer_metrics, read
from stowage_testbed.cluster.host_pods import HOST_NODE
from stowage_testbed.cluster.ports import LOOPBACK, port_beside
from stowage_testbed.helm.command import helm_folder
from stowage_testbed.helm.install import CHART
from stowage_testbed.toolchain import tool_path
from stowage_testbed.wait import wait_until

pytestmark = pytest.mark.e2e

READER = "prometheus"
OURS = {"schedulerName": "stowage"}

ONLY_ONCE_IT_HAPPENS = {
    "stowage_priority_optimizer_objections_total",
    "stowage_priority_optimizer_refused_evictions_total",
    "stowage_priority_optimizer_refused_plans_total",
    "stowage_score_cache_bypasses_total",
}
"""Counters with a label for the reason, which have no sample before there is one."""


@dataclass(frozen=True, slots=True)
class Monitored:
    """A release whose metrics are served, and where."""

    environment: HelmEnvironment
    scheduler: str
    optimizer: str

    def token_of(self, account: str, namespace: str) -> str:
        """Return a token of an account, as the kubelet mounts one."""
        body: Any = {"spec": {"expirationSeconds": 600}}
        made = self.environment.core.create_namespaced_service_account_token(
            account, namespace, body
        )
        return str(made.status.token)


@pytest.fixture(scope="module")
def monitored(environment: HelmEnvironment) -> Iterator[Monitored]:
    """Return a release that has made a plan and carried it out."""
    environment.kubectl("create", "namespace", "monitoring")
    environment.kubectl("create", "serviceaccount", READER, "--namespace", "monitoring")
    port, metrics_port = (port_beside(f"{environment.cluster.name}-{i}") for i in "ab")
    values = {
        "scheduler": {
            "securePort": port,
            "metrics": {
                "enabled": True,
                "readers": [{"name": READER, "namespace": "monitoring"}],
            },
        },
        "optimizer": {"metricsPort": metrics_port},
        "priorityOptimizer": {"executionMode": "Execute"},
    }
    environment.install(values=environment.values_file(values))
    environment.deploy("web", 2, 2000, **OURS)
    environment.until_placed("web", 2)
    environment.deploy("big", 1, 3500, **OURS)
    environment.until_placed("big", 1)
    assert len(environment.newest_plan("Completed")["status"]["moves"]) == 1
    yield Monitored(
        environment, f"https://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{metrics_port}"
    )
    environment.remove("big", "web")
    environment.helm("uninstall", RELEASE, "--wait")
    environment.kubectl("delete", "namespace", "monitoring")


@pytest.fixture
def scored(monitored: Monitored) -> Iterator[Monitored]:
    """Return the release with the score cache, by which it has placed pods."""
    environment = monitored.environment
    environment.helm(
        *("upgrade", RELEASE, str(CHART), "--reuse-values", "--wait"),
        *("--set", "profile=score-cache,optimizer.enabled=false"),
    )
    environment.deploy("small", 4, 10, **OURS)
    environment.until_placed("small", 4)
    yield monitored
    environment.remove("small")
    environment.helm("rollback", RELEASE, "--wait")


def scrape(url: str, token: str | None = None) -> tuple[int, str]:
    """Ask for metrics as Prometheus does; return the status and the text."""
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"{url}/metrics", headers=headers)  # noqa: S310 - on the loopback
    try:
        with urllib.request.urlopen(  # noqa: S310 - the same
            request, timeout=10, context=unverified
        ) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def kinds_in(text: str) -> dict[str, str]:
    """Return the kind of each metric that is served."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))


def labels_in(text: str, metric: str) -> set[str]:
    """Return the labels of a metric's samples."""
    samples = re.findall(rf"^{metric}(?:_bucket|_sum|_count)?\{{(.*)\}} ", text, re.M)
    return {name for one in samples for name in re.findall(r'(\w+)="', one)} - {"le"}


def test_the_account_that_the_values_name_may_scrape_and_no_other(
    monitored: Monitored,
) -> None:
    """Authentication and authorisation are the API server's, for each request."""
    reader = monitored.token_of(READER, "monitoring")
    other = monitored.token_of("default", "monitoring")

    assert scrape(monitored.scheduler)[0] in (
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
    )
    assert scrape(monitored.scheduler, "forged")[0] == HTTPStatus.UNAUTHORIZED
    assert scrape(monitored.scheduler, other)[0] == HTTPStatus.FORBIDDEN
    assert scrape(monitored.scheduler, reader)[0] == HTTPStatus.OK


def served_by_scheduler(monitored: Monitored) -> str:
    """Return what the account that may read it is served."""
    status, text = scrape(monitored.scheduler, monitored.token_of(READER, "monitoring"))
    assert status == HTTPStatus.OK, text
    return text


def test_what_is_served_is_what_the_reference_lists(monitored: Monitored) -> None:
    """The page of the metrics is generated from sources, which may tell half of it."""
    declared = {one.name: one for file in go_files() for one in read(file)}
    text = served_by_scheduler(monitored)
    served = {
        name: kind
        for name, kind in kinds_in(text).items()
        if name.startswith("stowage_")
    }

    assert served.keys() <= declared.keys()
    assert "stowage_priority_optimizer_solve_seconds" in served
    for name, kind in served.items():
        assert kind == declared[name].kind, name
        assert labels_in(text, name) <= set(declared[name].labels), name

    _, text = scrape(monitored.optimizer)
    served = {
        name: kind
        for name, kind in kinds_in(text).items()
        if name.startswith("stowage_")
    }
    assert served == {one.name: one.kind for one in optimizer_metrics()}


@pytest.fixture
def served(monitored: Monitored, request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the kinds of the metrics that one profile or the other serves."""
    optimizer = kinds_in(served_by_scheduler(monitored))
    scored: Monitored = request.getfixturevalue("scored")
    return optimizer | kinds_in(served_by_scheduler(scored))


def test_alerts_dashboard_and_guide_name_metrics_that_are_served(
    served: dict[str, str],
) -> None:
    """A panel of a metric that nobody serves stays empty, and an alert never fires."""
    named = {
        re.sub(r"_(bucket|sum|count)$", "", metric)
        for _, expression in expressions()
        for metric in names_in(expression)[0]
    }
    named |= set(re.findall(r"\bstowage_priority_\w+", GUIDE.read_text("utf-8")))

    # ``up`` is the scraper's own.
    silent = named - served.keys() - {"up"}
    declared = {one.name: one for file in go_files() for one in read(file)}

    assert silent <= ONLY_ONCE_IT_HAPPENS
    assert all(declared[name].labels for name in silent)
    assert len(named) > 20


def test_helm_test_passes_against_the_release(
    monitored: Monitored, tmp_path: Path
) -> None:
    """The release places the hook's pod, whose own command then finds it healthy.

    The node is a fake one, which would only pretend that the pod ran. So its
    container's command is run here, with its arguments and a token of its account, and
    its exit code becomes the pod's. Two arguments are others: the address, since the
    names of Services are known only in a cluster's network, and the file of the token.
    The host's node is closed meanwhile: it runs the release's pod, and the hook's is
    allowed wherever that is, but the deadline of a pod is not played there.
    """
    environment = monitored.environment
    environment.kubectl("cordon", HOST_NODE)
    command = ["test", RELEASE, "--namespace", NAMESPACE, "--timeout", "60s"]
    kubeconfig = environment.cluster.kubeconfig
    with subprocess.Popen(
        [str(tool_path("helm")), *command],
        env={
            "HOME": str(helm_folder(environment.cluster)),
            "KUBECONFIG": str(kubeconfig),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as helm:
        try:
            pod = wait_until(
                "the hook's pod to be placed",
                lambda: (
                    environment.core.list_namespaced_pod(
                        NAMESPACE, label_selector="app.kubernetes.io/component=test"
                    ).items
                ),
                lambda pods: bool(pods) and pods[0].status.phase == "Running",
                timeout_s=30,
            )[0]
            done = run_as_container(monitored, pod, tmp_path)
            phase = "Succeeded" if done.returncode == 0 else "Failed"
            environment.core.patch_namespaced_pod_status(
                pod.metadata.name, NAMESPACE, {"status": {"phase": phase}}
            )
            said, _ = helm.communicate(timeout=60)
        finally:
            helm.kill()
            environment.kubectl("uncordon", HOST_NODE)

    assert (done.returncode, done.stderr) == (0, "")
    assert pod.spec.scheduler_name == "stowage"
    assert pod.spec.node_name in {"node-0", "node-1"}
    assert helm.returncode == 0, said
    assert "Phase:          Succeeded" in said
    left = environment.kubectl(
        *("get", "serviceaccounts,clusterroles,clusterrolebindings", "-A"),
        *("--selector=app.kubernetes.io/component=test", "--output=name"),
    )
    assert left == ""


def run_as_container(
    monitored: Monitored, pod: Any, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run the only container of a pod as a process of this machine."""
    (container,) = pod.spec.containers
    url, token_file, *metrics = container.args[1:]
    account = pod.spec.service_account_name
    assert url.startswith(f"https://{RELEASE}-metrics.{NAMESPACE}.svc:")
    assert token_file == "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - where it is
    assert container.command == ["python3", "-c"]
    token = folder / "token"
    token.write_text(monitored.token_of(account, NAMESPACE))
    return subprocess.run(
        [
            *(sys.executable, "-c", container.args[0]),
            *(monitored.scheduler, str(token), *metrics),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
