"""Every process of a cluster, killed while something waits for the cluster."""

from __future__ import annotations

import gc
import os
import secrets
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from amounts import size
from kubernetes.client import CoordinationV1Api, CoreV1Api

from stowage_testbed.base.child import log_tail
from stowage_testbed.base.errors import RunEndedError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    HOST_PODS,
    KWOK,
    component_process,
    has_ended,
    log_file,
    pid_file,
)
from stowage_testbed.cluster.host_pods import start_host_pods
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.supervision import supervised
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.observe.observer import Observer

FOREVER_S = 100.0
SOON_S = 0.7
"""Long enough for the wait to have begun."""

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster() -> Iterator[KwokBinaryCluster]:
    """Yield a cluster that supervision does not take down: it is kept."""
    made = KwokBinaryCluster(f"test-{secrets.token_hex(3)}")
    with running_cluster(made):
        made.keep()
        yield made


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Collect connections that broke in the middle of an answer, here and not later."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def for_a_state(cluster: KwokBinaryCluster) -> None:
    """Wait as a step of a scenario does."""
    with cluster.api_client() as api, Observer(api) as observer:
        observer.wait_for(
            "what never comes",
            lambda _: ConditionResult(False, "nothing"),
            timeout_s=FOREVER_S,
        )


def for_an_answer(cluster: KwokBinaryCluster) -> None:
    """Wait as a request does that the API server holds open."""
    with cluster.api_client() as api:
        response: Any = CoreV1Api(api).list_namespace(
            watch=True, timeout_seconds=100, _preload_content=False
        )
        with closing(response):
            response.read()


@pytest.mark.parametrize(
    ("component", "wait"),
    [
        (ETCD, for_a_state),
        (API_SERVER, for_a_state),
        (API_SERVER, for_an_answer),
        (CONTROLLER_MANAGER, for_an_answer),
        (KWOK, for_a_state),
        (HOST_PODS, for_an_answer),
    ],
)
def test_the_wait_ends_with_the_name_and_the_last_lines_of_what_was_killed(
    cluster: KwokBinaryCluster,
    component: str,
    wait: Callable[[KwokBinaryCluster], None],
) -> None:
    """Nobody can read the log of a cluster that is gone, or guess which part failed."""

    def kill() -> None:
        os.kill(int(pid_file(cluster.workdir, component).read_text()), signal.SIGKILL)

    def wait_and_lose() -> None:
        with supervised(cluster):
            threading.Timer(SOON_S, kill).start()
            wait(cluster)

    with pytest.raises(RunEndedError) as caught:
        wait_and_lose()

    assert f"{component} has ended" in str(caught.value)
    said = log_tail(log_file(cluster.workdir, component)) or ["(it wrote nothing)"]
    assert str(caught.value).endswith("\n  ".join(said))
    cluster.start_again()
    if component == HOST_PODS:
        start_host_pods(cluster.workdir, cluster.kubeconfig)


def test_fake_nodes_are_at_work_once_the_cluster_is_started_again(
    cluster: KwokBinaryCluster,
) -> None:
    """The KWOK that was killed holds leases on them, which take minutes to run out."""
    with cluster.api_client() as api:
        leases: Any = CoordinationV1Api(api)
        (node,) = create_nodes(api, [NodePool("leased", 1, size(1000, 2**30))])

        def holder() -> Any:
            found = leases.list_namespaced_lease("kube-node-lease").items
            spec = {one.metadata.name: one.spec for one in found}.get(node)
            return spec.holder_identity if spec else ""

        before = wait_until("a lease", holder, bool, timeout_s=HANG_S)
        lease = leases.read_namespaced_lease(node, "kube-node-lease").spec
        kwok = component_process(cluster.workdir, KWOK)
        assert kwok is not None
        kwok.kill()
        wait_until(
            "KWOK to end",
            lambda: has_ended(cluster.workdir, KWOK),
            bool,
            timeout_s=HANG_S,
        )

        cluster.start_again()

        wait_until(
            "the next one to hold it",
            holder,
            lambda now: now not in {"", before},
            timeout_s=lease.lease_duration_seconds / 2,
        )
