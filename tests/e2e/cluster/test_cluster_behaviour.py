"""What a cluster with fake nodes does, on one that all tests here share."""

import json
import secrets
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from amounts import size
from kubernetes.client import ApiClient, CoreV1Api, PolicyV1Api
from release_environment import listening

from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import Cluster, KwokBinaryCluster, NodePool, Taint, create_nodes
from stowage_testbed.cluster.components import CONTROLLER_MANAGER, ETCD, component_process, processes_of
from stowage_testbed.cluster.device_pools import CLASSES, SLICES, change_slices, list_slices
from stowage_testbed.cluster.devices import Devices, DeviceTaint, Shares
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.kwokctl_config import ETCD_SOCKET
from stowage_testbed.cluster.probes import ask_etcd

pytestmark = pytest.mark.e2e

H100 = Devices(model="H100", count=3, memory="80Gi", partitions="mig", shares=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(KwokBinaryCluster(f"test-{secrets.token_hex(3)}")) as running:
        yield running


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[ApiClient]:
    with cluster.api_client() as client:
        yield client


@pytest.fixture(scope="module")
def core(api: ApiClient) -> Any:
    """Return the client; its answers are typed as if every field could be missing."""
    return CoreV1Api(api)


@pytest.fixture(scope="module")
def nodes(api: ApiClient) -> list[str]:
    taint = Taint("dedicated", "NoSchedule", "test")
    pools = [
        NodePool("small", 11, size(1500, 2**31), zones=("a", "b")),
        NodePool("big", 1, size(8000, 2**34), labels={"disk": "ssd"}, taints=(taint,)),
    ]
    return create_nodes(api, pools)


def test_devices_come_and_go_with_their_node(api: ApiClient) -> None:
    """The allocator gives nothing of a pool in which slices of a former node of that name are left."""
    objects, pool = Objects(api), NodePool("gpu", 1, size(8000, 2**34), devices=(H100,))
    smaller = replace(pool, devices=(replace(H100, count=1, partitions=""),))

    for one, slices in ((pool, 2), (smaller, 1)):
        create_nodes(api, [one])
        assert len(list(list_slices(objects, ["gpu-0"]))) == slices
        objects.delete("Node", "gpu-0")
    wait_until("the slices to go", lambda: [*list_slices(objects, ["gpu-0"])], lambda left: not left, timeout_s=HANG_S)

    assert {one["metadata"]["name"] for one in objects.list_all(CLASSES)} == {"h100", "h100-mig"}
    other = NodePool("other", 1, size(8000, 2**34), devices=(Devices(model="A100", name="h100", count=1),))
    with pytest.raises(StowageError, match="has a device class h100 of other devices"):
        create_nodes(api, [other])


def test_a_pool_changes_as_a_whole(api: ApiClient) -> None:
    """Of slices of two generations only the newer are seen, and their number would not be that of the pool."""
    objects, nic = Objects(api), Devices(model="ConnectX", count=1, driver="nic.stowage.dev")
    pool = NodePool("whole", 1, size(8000, 2**34), devices=(replace(H100, count=4), nic))
    create_nodes(api, [pool])
    before = objects.read(SLICES, "whole-0-gpu.stowage.dev-01")

    def remove(now: list[dict[str, Any]], described: list[dict[str, Any]]) -> list[dict[str, Any]]:
        assert [one["name"] for one in now] == [one["name"] for one in described]
        return [one for one in now if not one["name"].startswith("gpu-0")]

    changed = {one["metadata"]["name"]: one["spec"] for one in change_slices(objects, "whole-0", pool.devices, remove)}

    assert set(changed) == {f"whole-0-gpu.stowage.dev-0{number}" for number in range(3)}
    assert {spec["pool"]["generation"] for spec in changed.values()} == {2}
    assert [one["name"] for one in changed["whole-0-gpu.stowage.dev-00"]["devices"] if "mig" not in one["name"]] == [
        "gpu-1", "gpu-2",
    ]  # fmt: skip
    assert changed["whole-0-gpu.stowage.dev-01"]["devices"] == before["spec"]["devices"]
    assert objects.read(SLICES, "whole-0-nic.stowage.dev-00")["spec"]["pool"]["generation"] == 1
    restored = [*change_slices(objects, "whole-0", pool.devices, lambda _, described: described)]
    assert {one["spec"]["pool"]["generation"] for one in restored} == {3}
    assert not [*change_slices(objects, "whole-0", pool.devices, lambda now, _: now)]
    objects.delete("Node", "whole-0")


def test_devices_that_are_as_described_are_not_written_again(api: ApiClient) -> None:
    """The server writes amounts anew and dates taints; each write has the pool allocate nothing for a moment."""
    objects, taint = Objects(api), DeviceTaint(key="example.com/tests", effect="NoSchedule")
    shares = Shares(default="1024Mi", values=("1024Mi", "2048Mi"))
    same = Devices(model="A100", count=2, memory="81920Mi", shares=shares, taints=(taint,))
    create_nodes(api, [NodePool("same", 1, size(8000, 2**34), devices=(same, replace(H100, count=1)))])

    devices = objects.read(SLICES, "same-0-gpu.stowage.dev-00")["spec"]["devices"]
    assert devices[0]["capacity"]["memory"]["value"] == "80Gi"
    assert "timeAdded" in devices[0]["taints"][0]
    sets = (same, replace(H100, count=1))
    assert not [*change_slices(objects, "same-0", sets, lambda _, described: described)]
    assert [*change_slices(objects, "same-0", sets, lambda now, _: now[1:])]
    objects.delete("Node", "same-0")


def test_nothing_listens_beyond_the_loopback(cluster: Cluster) -> None:
    """On another interface, anyone could try their luck."""
    found = listening(processes_of(cluster.workdir))

    assert len(found) >= 3
    assert set(found) == {"127.0.0.1"}


def test_no_other_user_of_the_machine_reaches_etcd(cluster: Cluster) -> None:
    """It asks nobody who they are, and a pod in it is a command run as this user."""
    etcd = component_process(cluster.workdir, ETCD)
    assert etcd is not None

    assert listening([etcd]) == []
    assert (cluster.workdir / ETCD_SOCKET).is_socket()
    assert cluster.workdir.stat().st_mode & 0o077 == 0


def audited(cluster: Cluster, resource: str, verb: str = "create") -> list[dict[str, Any]]:
    """Return the audit log's creations of a resource, in order, or another verb's."""
    lines = cluster.audit_log.read_text(encoding="utf-8").splitlines()
    entries: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [entry for entry in entries if entry["verb"] == verb and entry["objectRef"]["resource"] == resource]


def test_nodes_are_made_in_order_ready_and_of_exactly_the_size_asked_for(
    cluster: Cluster, core: Any, nodes: list[str]
) -> None:
    """The scheduler lists nodes in the order in which it learns of them.

    A pod that comes a moment too early would be pending, on some runs only, and KWOK
    fills in huge defaults where a size is missing.
    """
    created = [entry["objectRef"].get("name") for entry in audited(cluster, "nodes")]
    assert [name for name in created if name in nodes] == nodes
    assert (nodes[0], nodes[-1]) == ("small-00", "big-0")
    for name in nodes:
        node = core.read_node(name)
        ready = [c.status for c in node.status.conditions if c.type == "Ready"]
        assert ready == ["True"]
        keys = [taint.key for taint in node.spec.taints or ()]
        assert keys == (["dedicated"] if name == "big-0" else [])
    first = core.read_node(nodes[0])
    room = {"cpu": "1500m", "memory": "2147483648", "pods": "110"}
    assert first.status.allocatable == room
    assert first.metadata.labels["topology.kubernetes.io/zone"] == "a"


def a_pod(name: str, node: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"nodeName": node, "containers": [{"name": "c", "image": "pause"}]}}


def await_running(core: Any, name: str) -> None:
    wait_until(
        f"pod {name} to run",
        lambda: core.read_namespaced_pod(name, "default").status.phase,
        lambda phase: phase == "Running",
    )


def await_gone(core: Any, *names: str) -> None:
    wait_until(
        f"pods {names} to go",
        lambda: {one.metadata.name for one in core.list_namespaced_pod("default").items},
        lambda there: not there & set(names),
    )


def test_a_pod_that_is_deleted_leaves_its_name_to_the_next(cluster: Cluster, core: Any, nodes: list[str]) -> None:
    """KWOK deletes by name: one deletion too many hits a StatefulSet's next pod."""
    for name in ("asked", "forced"):
        core.create_namespaced_pod("default", a_pod(name, nodes[0]))
        await_running(core, name)

    core.delete_namespaced_pod("asked", "default")
    core.delete_namespaced_pod("forced", "default", grace_period_seconds=0)
    await_gone(core, "asked", "forced")
    # What KWOK does about them it does before this.
    core.create_namespaced_pod("default", a_pod("forced", nodes[0]))
    await_running(core, "forced")

    fake_kubelet = [
        entry["objectRef"]["name"]
        for entry in audited(cluster, "pods", "delete")
        if entry["userAgent"].startswith("kwok-controller")
    ]
    assert [name for name in fake_kubelet if name in {"asked", "forced"}] == ["asked"]


def test_a_pod_whose_deletion_was_cut_off_goes_all_the_same(
    cluster: Cluster, core: Any, api: ApiClient, nodes: list[str]
) -> None:
    """The API server marks a pod without grace, and deletes it in a second step.

    A client that is killed in between leaves it so; a kubelet would end it.
    """
    core.create_namespaced_pod("default", a_pod("cut-off", nodes[0]))
    await_running(core, "cut-off")
    body = Objects(api).read("Pod", "cut-off", namespace="default")
    body["metadata"] |= {"deletionTimestamp": body["metadata"]["creationTimestamp"], "deletionGracePeriodSeconds": 0}
    del body["metadata"]["resourceVersion"]
    key, value = b"/registry/pods/default/cut-off", json.dumps(body).encode()
    put = {"key": b64encode(key).decode(), "value": b64encode(value).decode()}

    ask_etcd(cluster.workdir, "POST", "/v3/kv/put", put, HANG_S)

    await_gone(core, "cut-off")


def test_pending_pods_are_not_taken_for_those_that_had_their_names(core: Any, nodes: list[str]) -> None:
    """KWOK still plays pods that are gone when the next ones wait for a node."""
    names = [f"again-{number}" for number in range(60)]
    for name in names:
        core.create_namespaced_pod(
            "default", a_pod(name, nodes[0]) | {"metadata": {"name": name, "labels": {"a": "b"}}}
        )
    for name in names:
        await_running(core, name)
    core.delete_collection_namespaced_pod("default", label_selector="a=b", grace_period_seconds=0)
    waiting = [a_pod(name, nodes[0]) for name in names]
    for pod in waiting:
        del pod["spec"]["nodeName"]
    uids = {core.create_namespaced_pod("default", pod).metadata.uid for pod in waiting}
    # Whatever KWOK does about those before it does before this.
    last = a_pod("last", nodes[0])
    last["metadata"]["annotations"] = {"stowage.dev/ends-in": "4s"}
    core.create_namespaced_pod("default", last)
    await_running(core, "last")
    core.delete_namespaced_pod("last", "default")
    await_gone(core, "last")

    assert uids <= {one.metadata.uid for one in core.list_namespaced_pod("default").items}


def test_a_budget_no_longer_counts_a_pod_that_is_still_ending(core: Any, api: ApiClient, nodes: list[str]) -> None:
    """Else it would wait two minutes for a StatefulSet's next pod of the name to go."""
    policy: Any = PolicyV1Api(api)
    label = {"app": "ending"}
    budget = {"metadata": {"name": "ending"}, "spec": {"minAvailable": 0, "selector": {"matchLabels": label}}}
    pod = a_pod("ending", nodes[0])
    pod["metadata"]["labels"] = label
    policy.create_namespaced_pod_disruption_budget("default", budget)
    core.create_namespaced_pod("default", pod)

    def read_status() -> Any:
        read = policy.read_namespaced_pod_disruption_budget
        return read("ending", "default").status

    wait_until(
        "the budget to allow an eviction", read_status, lambda status: status and status.disruptions_allowed == 1
    )
    uid = core.read_namespaced_pod("ending", "default").metadata.uid
    Objects(api).evict("ending", namespace="default", uid=uid)
    wait_until("the budget not to count the pod", read_status, lambda status: not status.disrupted_pods)

    assert core.read_namespaced_pod("ending", "default").metadata.uid == uid


def test_kwok_leaves_nodes_without_the_annotation_alone(core: Any, nodes: list[str]) -> None:
    """The release's pods must be run by hostpods, not played by KWOK."""
    core.create_node({"metadata": {"name": "unmanaged"}})

    core.create_namespaced_pod("default", a_pod("on-unmanaged", "unmanaged"))
    core.create_namespaced_pod("default", a_pod("after", nodes[0]))
    await_running(core, "after")

    assert core.read_namespaced_pod("on-unmanaged", "default").status.phase == "Pending"


def test_a_second_manifest_of_a_node_changes_what_it_can_give(api: ApiClient) -> None:
    """Whoever writes another capacity into a file and applies it again would else run on the old one."""
    for cpu in ("4", "2"):
        status = {"capacity": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}
        node = make_manifest("v1", "Node", "applied", status=status)
        made = Objects(api).apply(node, manager="test")
        assert (made["status"]["capacity"]["cpu"], made["status"]["allocatable"]["cpu"]) == (cpu, cpu)
    Objects(api).delete("Node", "applied")


def test_a_node_that_is_made_again_has_a_lease_of_its_own(cluster: Cluster, api: ApiClient) -> None:
    """That of the node before is collected as garbage, and its pods stand still."""
    pool, objects = NodePool("again", 1, size(1000, 2**30)), Objects(api)
    create_nodes(api, [pool])
    manager = component_process(cluster.workdir, CONTROLLER_MANAGER)
    assert manager is not None
    manager.suspend()
    try:
        objects.delete("Node", "again-0")
        with ThreadPoolExecutor(1) as executor:
            made = executor.submit(create_nodes, api, [pool])
            wait_until(
                "KWOK to play the new node",
                lambda: (
                    objects.exists("Node", "again-0") and objects.read("Node", "again-0")["status"].get("conditions")
                ),
                bool,
            )
            manager.resume()
            made.result()
    finally:
        manager.resume()
    node = objects.read("Node", "again-0")
    lease = objects.read("Lease", "again-0", namespace="kube-node-lease")

    owners = [one["uid"] for one in lease["metadata"]["ownerReferences"]]
    assert owners == [node["metadata"]["uid"]]
