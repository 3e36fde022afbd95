"""A service recovers by the real autoscaler, from a real metrics-server's readings."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psutil
import pytest
from hpa_settings import QUICK
from kubernetes.client import ApiClient, AuthorizationV1Api, CustomObjectsApi

from testbed.cluster import Cluster, NodePool, create_nodes
from testbed.cluster.interruption import running_cluster
from testbed.cluster.metrics.usage import NAME, PLURAL, usage_object
from testbed.cluster.processes import processes_of
from testbed.compare.arms.arm import Dress
from testbed.compare.recording import RunLabel
from testbed.helm import install_release
from testbed.hpa.live.cluster import recovery_cluster
from testbed.hpa.live.run import run_recovery
from testbed.hpa.model.web_service import steady_state
from testbed.hpa.record import HpaRecord
from testbed.hpa.settings import Find, Hold, RecoverySettings
from testbed.observe.observer import Observer
from testbed.observe.settled import object_there
from testbed.run.bench import Bench
from testbed.run.site import Site
from testbed.toolchain import tool_path
from testbed.toolchain.errors import ToolMissingError

pytestmark = pytest.mark.e2e

SETTINGS: RecoverySettings = replace(
    QUICK,
    find=Find(start=6, most=12, step=6, level_s=2.0),
    hold=Hold(total_s=90.0, window_s=2.0, whole=False),
    # The recovery is what counts here, not by how much runs differ.
    aligned=False,
)
NODES = NodePool("web", 5, 2000, 8 << 30)
NAMESPACE = "shop"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    try:
        tool_path("metrics-server")
    except ToolMissingError as error:
        pytest.skip(str(error))
    made = recovery_cluster(f"hpa-{secrets.token_hex(3)}", SETTINGS.timing)
    with running_cluster(made) as running:
        install_release(running, profile="default", optimizer_enabled=False)
        yield running


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[ApiClient]:
    with cluster.api_client() as client:
        yield client


@pytest.fixture(scope="module")
def record(cluster: Cluster, api: ApiClient) -> HpaRecord:
    nodes = create_nodes(api, [NODES])
    with Observer(api) as observer:
        bench = Bench(cluster, api, observer, tag="test")
        bench.objects.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        )
        observer.wait_for(
            "the default service account",
            object_there("ServiceAccount", NAMESPACE, "default"),
            timeout_s=bench.timeouts.prepare_s,
        )
        return run_recovery(
            bench,
            Site(NAMESPACE, tuple(nodes)),
            SETTINGS,
            dress=Dress("default-scheduler"),
            label=RunLabel("hpa/recovery", "default"),
        )


def test_the_service_recovers(record: HpaRecord) -> None:
    """The SLA breaks under the first load, and is kept when replicas have come."""
    assert record.run.error == ""
    assert record.recovery.outcome == "recovered"
    assert record.clients == 6
    assert not record.hold[0].ok
    assert record.hold[-1].ok


def test_the_autoscaler_read_what_the_model_says(record: HpaRecord) -> None:
    """Nothing is lost from the model over KWOK and metrics-server to it."""
    read = [seen.cpu_percent for seen in record.replicas if seen.cpu_percent]
    state = steady_state(SETTINGS.service, 6, SETTINGS.autoscaling.min_replicas)
    expected = 100 * state.cpu_milli / SETTINGS.service.request_milli

    # The first reading may be of a span that began before the load.
    assert max(read) == pytest.approx(expected, rel=0.05)


def test_it_scaled_out_because_of_a_reading(record: HpaRecord) -> None:
    """And not because somebody scaled the Deployment by hand."""
    first = SETTINGS.autoscaling.min_replicas
    # Before its first look the autoscaler desires nothing.
    before = [seen for seen in record.replicas if seen.desired <= first]
    after = [seen for seen in record.replicas if seen.desired > first]

    assert {seen.current for seen in before} == {first}
    assert all(seen.cpu_percent is not None for seen in after)
    assert max(count.ready for count in record.pods) == after[-1].desired


def test_every_new_pod_was_timed(record: HpaRecord) -> None:
    new = [pod for pod in record.run.pods if pod.created_s is not None]

    assert len(new) == max(count.total for count in record.pods) - 3
    for pod in new:
        assert pod.created_s is not None
        assert pod.bound_s is not None
        assert pod.ready_s is not None
        assert pod.created_s <= pod.bound_s <= pod.ready_s


def test_nothing_is_left_behind(record: HpaRecord, api: ApiClient) -> None:
    """The next arm's run must not find this one's load."""
    custom: Any = CustomObjectsApi(api)
    usage = custom.get_cluster_custom_object("kwok.x-k8s.io", "v1alpha1", PLURAL, NAME)
    deployments = custom.list_namespaced_custom_object(
        "apps", "v1", NAMESPACE, "deployments"
    )
    autoscalers = custom.list_namespaced_custom_object(
        "autoscaling", "v2", NAMESPACE, "horizontalpodautoscalers"
    )

    assert usage["spec"] == usage_object({})["spec"]
    assert deployments["items"] == autoscalers["items"] == []


def test_metrics_server_listens_on_the_loopback_only(cluster: Cluster) -> None:
    listening = [
        connection.laddr.ip
        for process in processes_of(cluster.workdir)
        if process.name() == "metrics-server"
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]

    assert listening == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("verb", "group", "resource", "allowed"),
    [
        ("list", "", "pods", True),
        ("get", "", "nodes/metrics", True),
        ("list", "", "secrets", False),
        ("create", "", "pods", False),
        ("delete", "", "pods", False),
        ("update", "", "nodes", False),
        ("get", "", "nodes/proxy", False),
    ],
)
def test_metrics_server_s_account_may_do_little(
    api: ApiClient, verb: str, group: str, resource: str, allowed: bool
) -> None:
    authorization: Any = AuthorizationV1Api(api)
    kind, _, subresource = resource.partition("/")
    review = {
        "spec": {
            "user": "system:serviceaccount:kube-system:metrics-server",
            "resourceAttributes": {
                "verb": verb,
                "group": group,
                "resource": kind,
                "subresource": subresource,
            },
        }
    }

    answer = authorization.create_subject_access_review(review)

    assert answer.status.allowed is allowed
