"""Nodes are folded into kinds, and pods are told by their controllers."""

import re
from typing import Any

import pytest
from found_cluster import Manifest, found, node, pod, replicas, thing

from stowage_testbed.capture.capture import capture_nodes
from stowage_testbed.capture.workloads import CapturedWorkload, capture_pods, notes_in_words

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("nodes", "pools"),
    [
        # Two hundred nodes are read as three lines.
        ([node(f"ip-10-{n}", zone="ab"[n % 2], rack=str(n)) for n in range(5)], [("ip-10", 5, ("a", "b"), {})]),
        # With four in one and one in another, turns would give others.
        ([node(f"n{n}", zone="aaaab"[n]) for n in range(5)], [("n", 4, ("a",), {}), ("n-b", 1, ("b",), {})]),
        # A label stays where pods ask about it; others would keep equal nodes apart.
        (
            [node("n0", disk="ssd", rack="1"), node("n1", disk="hdd", rack="2")],
            [("n", 1, (), {"disk": "ssd"}), ("n-b", 1, (), {"disk": "hdd"})],
        ),
        # A number would make the name of a kind that of a node.
        (
            [node("pool-1", "4"), node("pool-2", "8"), node("pool-3", "16")],
            [("pool", 1, (), {}), ("pool-b", 1, (), {}), ("pool-c", 1, (), {})],
        ),
    ],
    ids=["zones in turn", "other zones", "labels", "names"],
)
def test_equal_nodes_are_one_kind(nodes: list[Manifest], pools: list[tuple[object, ...]]) -> None:
    """It is read as a line; what differs for pods is a kind of its own."""
    made, _, _ = capture_nodes(nodes, {"disk"})

    assert pools == [(one.name_prefix, one.count, tuple(one.zones), dict(one.labels)) for one in made]


def test_every_node_keeps_its_zone() -> None:
    """A pod that is placed again must find the zone that its volume is in."""
    zones = {"x": "b", "y": "a", "z": "a", "w": "b", "v": "a"}

    pools, names, _ = capture_nodes([node(n, zone=z) for n, z in zones.items()], ())

    manifests = [one for pool in pools for one in pool.manifests()]
    made = {m["metadata"]["name"]: m["metadata"]["labels"][ZONE] for m in manifests}
    assert {name: made[names[name]] for name in zones} == zones


def test_a_node_that_does_not_answer_or_is_closed_takes_no_pods() -> None:
    """A fake one is ready, and loses the taints that say otherwise."""

    def tainted(name: str, key: str, *effects: str) -> Manifest:
        key = f"node.kubernetes.io/{key}"
        return node(name, taints=[{"key": key, "effect": one} for one in effects])

    closed = tainted("n2", "unschedulable", "NoSchedule")
    closed["spec"]["unschedulable"] = True
    silent = tainted("n0", "unreachable", "NoSchedule", "NoExecute")
    pools, names, cordoned = capture_nodes([silent, node("n1"), closed], ())

    first, second = ([(t.key, t.effect) for t in p.taints] for p in pools)
    assert (first, second) == ([("stowage.dev/not-ready", "NoSchedule")], [])
    assert cordoned == (names["n2"],)


def capture(*objects: Manifest) -> dict[str, CapturedWorkload]:
    workloads, _ = capture_pods(found(node("n0"), *objects))
    return {one.name: one for one in workloads}


def test_claims_of_a_stateful_set_are_its_templates() -> None:
    """Each pod has its own, which it finds by its name."""
    volumes = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}}
        for name, claim in (("data", "data-db-0"), ("all", "common"))
    ]
    spec = {"storageClassName": "fast", "volumeName": "pv-1", "accessModes": ["RWO"]}

    db = capture(
        pod("db-0", "n0", owner=("StatefulSet", "db"), volumes=volumes),
        thing("PersistentVolumeClaim", "data-db-0", spec=spec),
    )["db"]

    (claim,) = db.claims
    assert claim["metadata"] == {"name": "data"}
    assert claim["spec"]["storageClassName"] == "fast"
    assert "volumeName" not in claim["spec"]
    assert [one["name"] for one in db.spec["volumes"]] == ["all"]


def test_a_daemon_keeps_what_all_its_pods_ask_for() -> None:
    """Each of them is held to one node, and the next one to another."""
    here = {"matchFields": [
        {"key": "metadata.name", "operator": "In", "values": ["n0"]}]}  # fmt: skip
    gpu = {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}

    def daemon(name: str, term: Manifest) -> Manifest:
        affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
        return pod(f"{name}-1", "n0", owner=("DaemonSet", name), affinity=affinity)

    made = capture(daemon("a", here | gpu), daemon("b", here))

    kept = made["a"].spec["affinity"]["nodeAffinity"]
    assert kept[REQUIRED] == {"nodeSelectorTerms": [gpu]}
    assert "affinity" not in made["b"].spec


def test_what_the_server_took_from_a_pods_own_labels_is_taken_out() -> None:
    """The hash of the next template is another one."""
    own = {"key": "pod-template-hash", "operator": "In", "values": ["6f5c"]}
    selector: dict[str, Any] = {"matchLabels": {"app": "web"}}
    given = {"topologyKey": "zone", "matchLabelKeys": ["pod-template-hash"]}
    spread = {**given, "labelSelector": {**selector, "matchExpressions": [own]}}

    web = capture(*replicas("web", ["n0"], topologySpreadConstraints=[spread]))["web"]

    (kept,) = web.spec["topologySpreadConstraints"]
    assert kept == {**given, "labelSelector": selector}


RAY: dict[str, Any] = {"owner": ("RayCluster", "ray"), "labels": {"r": "1"}}


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        # `kubectl get nodes,pods,pdb` lists no controllers, nor revisions of a rollout.
        (
            [
                *replicas("web", ["n0", "n0", ""], template_hash="aaaa"),
                *replicas("web", ["n0"], template_hash="bbbb", cpu="2"),
            ],
            [("web", "Deployment", ("n0", "n0", "")), ("web-2", "Deployment", ("n0",))],
        ),
        # Equal pods that nobody brings again are one workload.
        (
            [*(pod(f"ray-{n}", "n0", **RAY) for n in range(2)), pod("other", "n0")],
            [("other", "Pod", ("n0",)), ("ray", "Pod", ("n0", "n0"))],
        ),
        # Those of several namespaces have names of their own: a run has one.
        (
            [replicas("web", ["n0"], namespace=one)[0] for one in "ab"],
            [("a-web", "Deployment", ("n0",)), ("b-web", "Deployment", ("n0",))],
        ),
        # It holds no room.
        ([{**pod("a", "n0"), "status": {"phase": "Succeeded"}}], []),
        # A template of a StatefulSet or DaemonSet holds for all its pods.
        (
            [
                pod(f"db-{n}", "n0", owner=("StatefulSet", "db"), labels={"app": "db"}, cpu=f"{n or 1}")
                for n in range(3)
            ],
            [("db", "StatefulSet", ("n0", "n0")), ("db-2", "StatefulSet", ("n0",))],
        ),
    ],
    ids=["pods alone", "equal pods", "namespaces", "ended", "revisions"],
)
def test_pods_are_told_by_their_controllers(
    objects: list[Manifest], told: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    """Who reads the file sees what somebody runs, not each pod."""
    workloads, _ = capture_pods(found(node("n0"), *objects))

    assert [(one.name, one.kind, one.nodes) for one in workloads] == told
    assert all("pod-template-hash" not in one.labels for one in workloads)


def changed(name: str, on: str = "n0", metadata: Any = (), status: Any = ()) -> Manifest:
    made = pod(name, on, cpu="1")
    made["metadata"].update(dict(metadata))
    made["status"].update(dict(status))
    return made


LEAVING = {"deletionTimestamp": "2026-11-26T12:00:00Z"}


def resized(reason: str, **cpu: str) -> Manifest:
    """Return a pod that asks for 1 cpu and has others."""
    has = {"allocatedResources": {"cpu": cpu["allocated"]}, "resources": {"requests": {"cpu": cpu["actual"]}}}
    pending = {"type": "PodResizePending", "status": "True", "reason": reason}
    return changed("a", status={"containerStatuses": [{"name": "main", **has}], "conditions": [pending]})


@pytest.mark.parametrize(
    ("made", "kinds", "cpu", "said"),
    [
        # A pod that is bound does not wait.
        (changed("a", "gone"), [], "", "not taken along: pods on nodes that are not listed.*shop/a on gone"),
        (changed("a", metadata=LEAVING), [("a-leaving", "Pod")], "1", "so that they hold their room.*shop/a"),
        (changed("a", "", metadata=LEAVING), [], "", "not taken along: pods that were about to end.*shop/a"),
        (resized("Deferred", allocated="2", actual="3"), [("a", "Pod")], "3", "otherwise than it was.*resize"),
        (resized("Infeasible", allocated="500m", actual="500m"), [("a", "Pod")], "500m", "resize"),
        (resized("Deferred", allocated="1000m", actual="1"), [("a", "Pod")], "1", "^$"),
    ],
    ids=["unlisted node", "leaving", "leaving without a node", "resize", "infeasible resize", "done resize"],
)
def test_what_holds_room_holds_it_and_what_does_not_is_named(
    made: Manifest, kinds: list[tuple[str, str]], cpu: str, said: str
) -> None:
    """A pod that waits for that room waits in the scenario, too."""
    workloads, notes = capture_pods(found(node("n0"), pod("b", "n0"), made))

    kept = [one for one in workloads if one.name != "b"]
    assert [(one.name, one.kind) for one in kept] == kinds
    assert [one.spec["containers"][0]["resources"]["requests"]["cpu"] for one in kept] == [cpu] * len(kept)
    assert re.search(said, "\n".join(notes_in_words(notes)))


def test_daemons_of_several_revisions_keep_to_their_nodes() -> None:
    """Two DaemonSets would both have a pod on each node."""
    daemons = [pod(f"d-{n}", f"n{n}", owner=("DaemonSet", "d"), labels={"d": ""}, cpu=f"{n + 1}") for n in range(2)]

    workloads, notes = capture_pods(found(node("n0"), node("n1"), *daemons))

    terms = [one.spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] for one in workloads]
    assert [one[0]["matchExpressions"][0]["values"] for one in terms] == [["n0"], ["n1"]]
    assert [*notes.values()] == [["shop/d"]]
