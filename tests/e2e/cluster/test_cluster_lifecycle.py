"""Clusters come up, stand side by side, and are brought up and ended by hand."""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from amounts import size
from kubernetes.client import CoreV1Api
from stowage_run import MAIN, STOWAGE, nothing_is_left

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.components import CONTROLLER_MANAGER, KWOK, SCHEDULER, component_process
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.listing import find_cluster, purge_clusters
from stowage_testbed.toolchain import choose_minor

pytestmark = pytest.mark.e2e


def test_two_clusters_stand_side_by_side_and_take_pods_at_once(cluster_name: str) -> None:
    """On free ports, and the same name twice is refused while the first is in use."""
    other = KwokBinaryCluster(f"{cluster_name}-b")

    with running_cluster(KwokBinaryCluster(cluster_name)), running_cluster(other) as second:
        with second.api_client() as api:
            core: Any = CoreV1Api(api)
            accounts = core.list_service_account_for_all_namespaces().items
        owners = [find_cluster(one).owner for one in (cluster_name, other.name)]
        ports = {owner.ports.kube_apiserver for owner in owners if owner}
        assert len(ports) == 2
        with pytest.raises(StowageError, match=f"process {os.getpid()}"):
            KwokBinaryCluster(cluster_name).up()
        assert find_cluster(cluster_name).state == "owned"

    # A pod that is created before its account is refused.
    ready = {one.metadata.namespace for one in accounts if one.metadata.name == "default"}
    assert {"default", "kube-system"} <= ready
    assert nothing_is_left(cluster_name)
    assert nothing_is_left(other.name)


def test_a_cluster_by_hand_is_shown_and_stays_until_it_is_taken_down(
    cluster_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the stock scheduler, which bars a second one and is named when it dies.

    Nothing but the cache is written: `~/.kube` is the user's way to real clusters.
    """
    monkeypatch.setenv("STOWAGE_CACHE", str(layout.cache_folder()))
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)

    def stowage(*arguments: str) -> str:
        command = [*STOWAGE, MAIN, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    command = [*STOWAGE, MAIN, "up", cluster_name, "--nodes", "{count: 2, cpu: 4, memory: 8Gi}"]
    with subprocess.Popen([*command, "--page"], stdout=subprocess.PIPE, text=True) as shown:
        assert shown.stdout is not None
        said = [shown.stdout.readline() for _ in range(4)]
        shown.send_signal(signal.SIGINT)
        assert shown.wait(HANG_S) == 0
    assert f"cluster {cluster_name} of Kubernetes {choose_minor()} is up with 2 nodes" in said[0]
    assert said[-1].startswith("page: http://127.0.0.1:")
    assert Path(stowage("kubeconfig", cluster_name).strip()).is_file()
    assert find_cluster(cluster_name).state == "up"
    assert cluster_name not in purge_clusters()

    results = ("--results", str(tmp_path / "results"))
    refused = stowage("run", "paper/figure-1", "--cluster", cluster_name, *results)
    assert f"stowage up {cluster_name} --scheduler none" in refused
    workdir = layout.clusters_folder() / cluster_name
    scheduler = component_process(workdir, SCHEDULER)
    assert scheduler is not None
    scheduler.kill()
    wait_until(f"{SCHEDULER} to end", lambda: component_process(workdir, SCHEDULER), lambda process: process is None)
    assert f"{SCHEDULER} has ended" in stowage("list")

    stowage("down", cluster_name)
    assert nothing_is_left(cluster_name)
    assert list(home.iterdir()) == []


def test_components_that_gave_up_waiting_are_started_again(cluster_name: str) -> None:
    """On a slow machine the API server comes later than they are willing to wait."""
    impatient = (KWOK, CONTROLLER_MANAGER)
    workdir = layout.clusters_folder() / cluster_name

    def give_up() -> None:
        for component in impatient:
            process = wait_until(f"{component} to be started", partial(component_process, workdir, component), bool)
            assert process is not None
            process.kill()

    with ThreadPoolExecutor(1) as pool:
        gone = pool.submit(give_up)
        with running_cluster(KwokBinaryCluster(cluster_name)) as cluster:
            gone.result()
            with cluster.api_client() as api:
                nodes = create_nodes(api, [NodePool("node", 1, size(1000, 2**30))])

    assert nodes == ["node-0"]
