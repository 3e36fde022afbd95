"""A large cluster in little time: pods are created bound, for real ReplicaSets.

A controller manager that sees a ReplicaSet before its pods would create more of them.
So it is stopped while they are created, and reads all of them before it acts.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count, cycle
from math import ceil
from typing import Any

from benchmarks.engine import T
from benchmarks.live.cell import CPU_MILLI, LARGE_A_WORKLOAD, NODE_CPU_MILLI, PODS_A_NODE, PODS_A_WORKLOAD, Cell
from stowage_testbed.amounts.resources import MOST_PODS, Resources
from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import POLL_S, wait_until
from stowage_testbed.cluster.components import CONTROLLER_MANAGER, KWOK, component_process, is_alive, kill_one
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.cluster.kwokctl_config import ExtraArgs
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.observe.change import ReceiptClock
from stowage_testbed.scenario.steps.pacing import Due, Pacer

STEADY = "steady"
"""Namespace of the pods that are there before, and that a plan moves."""

LIVE = "live"
"""Namespace of the pods that arrive while it is measured."""

SELDOM_RENEWED: ExtraArgs = {
    KWOK: {"node-lease-duration-seconds": "1200"},
    CONTROLLER_MANAGER: {"node-monitor-grace-period": "1500s"},
}
"""Each node renews its lease once in five minutes. At the usual ten seconds 5,000 nodes
would write 500 times a second, which is most of what two cores can do."""

POOL = "stowage.dev/pool"
BUILDERS = 8
MEMORY_BYTES = 64 << 30
READY_TIMEOUT_S = 1800.0

IDLE_PERCENT = 15.0
"""Of a core. 5,000 nodes that do nothing but renew their leases take half that."""

IDLE_OVER_S = 3.0


def too_slow(name: str, late_s: float) -> StowageError:
    """Return what to raise when an object was not created in time."""
    return StowageError(f"{name} is {late_s:.0f} s late; the machine is too slow or too busy")


def build(cluster: KwokBinaryCluster, objects: Objects, cell: Cell) -> None:
    """Create nodes, ReplicaSets and their bound pods; wait until all are at rest."""
    for name in (STEADY, LIVE):
        objects.create(make_manifest("v1", "Namespace", name))
    accounts = partial(objects.list_all, "ServiceAccount")
    _wait("the default service accounts", lambda: [accounts(STEADY), accounts(LIVE)], all)
    pools = [
        NodePool(
            f"pool-{number}",
            cell.nodes // cell.rounds,
            Resources(cpu=NODE_CPU_MILLI, memory=MEMORY_BYTES, pods=MOST_PODS),
            labels={POOL: str(number)},
        )
        for number in range(cell.rounds)
    ]
    all_at_once(objects.create, (one for pool in pools for one in pool.manifests()))
    _wait("the nodes to be open for pods", lambda: _closed(objects), lambda closed: not closed, poll_s=1.0)
    _await_idle(cluster)
    _without_controllers(cluster, lambda: _create_steady(objects, cell, pools))
    _wait(
        "the steady pods to be ready",
        lambda: ready_pods(objects.list_all("ReplicaSet", STEADY)),
        lambda ready: ready == cell.steady,
        poll_s=1.0,
    )
    _await_idle(cluster)


def all_at_once(create: Callable[[Manifest], object], manifests: Iterator[Manifest]) -> None:
    """Create objects as fast as the API server takes them."""
    dues = (Due(0.0, one["metadata"]["name"], partial(create, one)) for one in manifests)
    Pacer(ReceiptClock(), READY_TIMEOUT_S, too_slow, BUILDERS).run(dues)


def large_manifests(cell: Cell, number: int) -> Iterator[Manifest]:
    """Yield the ReplicaSets of the pods that arrive in a round."""
    for index, first in enumerate(range(0, cell.large, LARGE_A_WORKLOAD)):
        replicas = min(LARGE_A_WORKLOAD, cell.large - first)
        yield _replica_set(f"{large_prefix(number)}{index:04}", LIVE, replicas, cell.large_cpu_milli, number)


def large_prefix(number: int) -> str:
    """Return how the names of the pods begin that arrive in a round."""
    return f"large-{number}-"


def tiny_pod(name: str) -> Manifest:
    """Return a pod that fits anywhere and that nothing need move for."""
    pod = make_manifest("v1", "Pod", name, LIVE, spec=_spec(1))
    pod["metadata"]["labels"] = {"app": "tiny"}
    return pod


def ready_pods(replica_sets: Iterable[Mapping[str, Any]]) -> int:
    """Return how many pods of these are ready."""
    return sum(one["status"].get("readyReplicas", 0) for one in replica_sets)


def _create_steady(objects: Objects, cell: Cell, pools: list[NodePool]) -> None:
    """Create each pool's ReplicaSets, then their pods, dealt out to its nodes in turn."""
    for number, pool in enumerate(pools):
        nodes = pool.node_names()
        pods, workloads = len(nodes) * PODS_A_NODE, ceil(cell.nodes * PODS_A_NODE / PODS_A_WORKLOAD) // cell.rounds
        made = []
        for index in range(workloads):
            replicas = pods // workloads + (index < pods % workloads)
            manifest = _replica_set(f"steady-{number}-{index:04}", STEADY, replicas, CPU_MILLI, number)
            made.append((manifest, objects.create(manifest)["metadata"]["uid"]))
        all_at_once(objects.create, _bound_pods(made, nodes))


def _bound_pods(made: list[tuple[Manifest, str]], nodes: list[str]) -> Iterator[Manifest]:
    turn = cycle(nodes)
    for owner, uid in made:
        template, name = owner["spec"]["template"], owner["metadata"]["name"]
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid}
        owners = [{**reference, "controller": True, "blockOwnerDeletion": True}]
        for index in range(owner["spec"]["replicas"]):
            spec = {**template["spec"], "nodeName": next(turn)}
            pod = make_manifest("v1", "Pod", f"{name}-{index:05}", STEADY, spec=spec)
            pod["metadata"] |= {"labels": template["metadata"]["labels"], "ownerReferences": owners}
            yield pod


def _replica_set(name: str, namespace: str, replicas: int, cpu_milli: int, pool: int) -> Manifest:
    labels = {"app": name}
    pod = {**_spec(cpu_milli), "nodeSelector": {POOL: str(pool)}}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return make_manifest("apps/v1", "ReplicaSet", name, namespace, spec=spec)


def _spec(cpu_milli: int) -> Manifest:
    requests = {"cpu": f"{cpu_milli}m"}
    container = {"name": "main", "image": "pause", "resources": {"requests": requests}}
    return {
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }


def _closed(objects: Objects) -> list[str]:
    """Return the nodes that admission closed at their birth, and that still are."""
    return [
        one["metadata"]["name"]
        for one in objects.list_all("Node")
        if POOL in one["metadata"]["labels"] and one["spec"].get("taints")
    ]


def _await_idle(cluster: KwokBinaryCluster) -> None:
    """Wait until KWOK has caught up.

    It writes many a pod's status a second time, minutes after all are Ready, and has
    the API server take most of two cores for it.
    """

    def percent() -> float:
        process = component_process(cluster.workdir, KWOK)
        return process.cpu_percent(IDLE_OVER_S) if process is not None else 0.0

    _wait("KWOK to have caught up", percent, lambda now: now < IDLE_PERCENT)


def _without_controllers(cluster: KwokBinaryCluster, act: Callable[[], None]) -> None:
    process = component_process(cluster.workdir, CONTROLLER_MANAGER)
    if process is not None:
        kill_one(process)
        _wait("the controller manager to end", lambda: is_alive(process), lambda alive: not alive)
    act()
    cluster.start_again()


def _wait(what: str, look: Callable[[], T], holds: Callable[[T], bool], poll_s: float = POLL_S) -> None:
    wait_until(what, look, holds, timeout_s=READY_TIMEOUT_S, poll_s=poll_s)


LIFE_S = 10.0
"""How long a pod of a churn stays: most have a node long before."""

ALLOWED_S = 60.0


@contextmanager
def churning(objects: Objects, prefix: str, events_per_s: int, clock: ReceiptClock) -> Iterator[None]:
    """Create and delete pods for the block, so many of both together a second."""
    if not events_per_s:
        yield
        return
    over = threading.Event()
    pacer = Pacer(clock, ALLOWED_S, too_slow, pause=over.wait)
    with ThreadPoolExecutor(1, thread_name_prefix="churn") as pool:
        churn = pool.submit(pacer.run, _churn(objects, prefix, events_per_s, over))
        try:
            yield
        finally:
            over.set()
        # A pod that was late or refused is no figure.
        churn.result()


def _churn(objects: Objects, prefix: str, events_per_s: int, over: threading.Event) -> Iterator[Due]:
    alive = int(LIFE_S * events_per_s / 2)
    for number in count():
        if over.is_set():
            return
        at_s = 2 * number / events_per_s
        name = f"{prefix}-{number:06}"
        yield Due(at_s, name, partial(objects.create, tiny_pod(name)))
        if number >= alive:
            old = f"{prefix}-{number - alive:06}"
            yield Due(at_s, old, partial(objects.delete, "Pod", old, namespace=LIVE, at_once=True))
