"""What is said of a cluster with the stock scheduler comes true when it is done."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from amounts import asked, size
from kubernetes import client

from stowage_testbed.amounts.price import parse_price
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.child import end_child
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.defragment.rehearsal import TAINT
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Workload
from stowage_testbed.toolchain import tool_path

pytestmark = pytest.mark.e2e

GIB = 2**30
NAMESPACE = "default"
POOLS = (("large", 4, 8000, "0.384"), ("small", 6, 2000, "0.1009"))
"""Names, counts, cpu and prices of nodes."""

MANY, FEW = 5, 2
"""Replicas of each workload at first, and when most are gone."""

APPS = {"web": 500, "api": 300, "cache": 700, "mail": 200}
"""The cpu of each workload's pods."""

LINES, COLUMNS = 40, 100


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KwokBinaryCluster]:
    """Yield one that the stock scheduler has filled, and that is half empty now."""
    made = KwokBinaryCluster(f"defragment-{uuid4().hex[:6]}")
    made.up()
    log = tmp_path_factory.mktemp("scheduler") / "log"
    try:
        with closing(made.api_client()) as api, log.open("wb") as file:
            scheduler = subprocess.Popen(
                [
                    str(tool_path("kube-scheduler", made.minor)),
                    f"--kubeconfig={made.kubeconfig}",
                    "--leader-elect=false",
                    "--secure-port=0",
                ],
                stderr=file,
            )
            try:
                _fill(api)
                yield made
            finally:
                end_child(scheduler, HANG_S)
    finally:
        made.down()


def _fill(api: client.ApiClient) -> None:
    create_nodes(
        api,
        [
            NodePool(
                name,
                count,
                size(cpu, 16 * GIB),
                labels={
                    "stowage.dev/hourly-price": price,
                    "node.kubernetes.io/instance-type": name,
                },
            )
            for name, count, cpu, price in POOLS
        ],
    )
    objects = Objects(api)
    for name, cpu in APPS.items():
        workload = Workload(name, MANY, asked(cpu, GIB // 8))
        objects.create(make_controller(workload, NAMESPACE))
    _await_running(objects, MANY * len(APPS))
    for name in APPS:
        change = {"spec": {"replicas": FEW}}
        objects.patch("ReplicaSet", name, change, namespace=NAMESPACE)
    _await_running(objects, FEW * len(APPS))


def _await_running(objects: Objects, number: int) -> list[dict[str, Any]]:
    """Return the pods when so many are there, all of them ready."""

    def ready(pod: dict[str, Any]) -> bool:
        conditions = pod["status"].get("conditions") or ()
        gone = pod["metadata"].get("deletionTimestamp")
        return not gone and any(
            one["type"] == "Ready" and one["status"] == "True" for one in conditions
        )

    return wait_until(
        f"{number} ready pods and no other",
        lambda: objects.list_all("Pod", NAMESPACE),
        lambda pods: len(pods) == number and all(map(ready, pods)),
        timeout_s=HANG_S,
    )


def run(cluster: KwokBinaryCluster, *arguments: str) -> str:
    """Return what a command says of the cluster."""
    done = subprocess.run(
        ["stowage", *arguments],
        env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return those of a release that takes pods as they are, however young."""
    file = tmp_path_factory.mktemp("values") / "values.yaml"
    file.write_text("priorityOptimizer: {minPodAgeSeconds: 0}\n")
    return file


def test_savings_and_defragment_tell_the_same_and_fit_a_screen(
    cluster: KwokBinaryCluster, values: Path
) -> None:
    """One is what is asked first, the other what is done about it."""
    spent = run(cluster, "savings", "--values", str(values))
    saved = run(cluster, "defragment", "--values", str(values))

    assert spent.split("\n")[:3] == saved.split("\n")[:3]
    assert "an hour" in spent
    for text in (spent, saved):
        lines = text.rstrip("\n").split("\n")
        assert len(lines) <= LINES
        assert max(map(len, lines)) <= COLUMNS


def test_what_was_rehearsed_happens_when_the_moves_are_made_by_hand(
    cluster: KwokBinaryCluster, values: Path
) -> None:
    """The nodes are empty in the end, every pod runs, and as much is saved as was told.

    The stock scheduler places the replacements; it knows nothing of the plan.
    """
    found = json.loads(run(cluster, "defragment", "--values", str(values), "--json"))
    emptied = [one["name"] for one in found["emptied"]]
    prices = {
        f"{name}-{number}": price
        for name, count, _, price in POOLS
        for number in range(count)
    }
    assert found["certainty"] == "Rehearsed"
    assert len(emptied) >= 2
    # Cheap nodes that are idle by chance may take what is on dear ones.
    opened = set(found["opened"])
    assert parse_price(found["hourlySaving"]) == _sum(prices, emptied) - _sum(
        prices, opened
    )

    with closing(cluster.api_client()) as api:
        objects = Objects(api)
        used = _used(objects)
        _taint(objects, {*emptied, *(set(prices) - used - opened)})
        for node in found["emptied"]:
            for move in node["moves"]:
                _move(objects, move)
        left = _used(objects)

    assert left == (used - set(emptied)) | opened
    before, after = _sum(prices, used), _sum(prices, left)
    assert parse_price(found["hourlyPriceBefore"]) == before
    assert parse_price(found["hourlyPriceAfter"]) == after
    assert parse_price(found["hourlyPriceLowerBound"]) <= after


def _sum(prices: Mapping[str, str], nodes: Iterable[str]) -> int:
    return sum(parse_price(prices[name]) for name in nodes)


def _used(objects: Objects) -> set[str]:
    pods = _await_running(objects, FEW * len(APPS))
    return {pod["spec"]["nodeName"] for pod in pods}


def _taint(objects: Objects, names: set[str]) -> None:
    taint = {"key": TAINT, "effect": "NoSchedule"}
    for name in names:
        objects.patch("Node", name, {"spec": {"taints": [taint]}})


def _move(objects: Objects, move: Mapping[str, str]) -> None:
    """Evict a pod, and return when all are ready again."""
    namespace, _, name = move["pod"].partition("/")
    pod = objects.read("Pod", name, namespace=namespace)
    assert pod["spec"]["nodeName"] == move["from_node"]
    objects.evict(name, namespace=namespace, uid=pod["metadata"]["uid"])
    _await_running(objects, FEW * len(APPS))
