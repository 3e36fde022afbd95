"""Random small snapshots in which pods demand things of each other."""

from __future__ import annotations

from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb

NODES = ["n0", "n1", "n2", "n3"]
APPS = ["a", "b"]
ROOMY = pb.Resources(cpu_milli=100_000, memory_bytes=100 * 10**9, pods=110)


def related_pods(chance: Random, *, waiting: int = 1) -> pb.Snapshot:
    """Return four nodes in up to two zones, a few running pods and ``waiting`` ones.

    Running pods ask for nothing, waiting ones for 1 milli of CPU.
    """
    snapshot = pb.Snapshot(id="snapshot-1")
    for name in NODES:
        labels = {"host": name, "zone": chance.choice(["x", "y"])}
        for key in list(labels):
            if not chance.randrange(8):
                del labels[key]
        taints = [pb.Taint(key="t", effect="NoSchedule")]
        if chance.randrange(6):
            taints = []
        if chance.randrange(3):
            labels["disk"] = chance.choice(["ssd", "hdd"])
        snapshot.nodes.add(name=name, allocatable=ROOMY, labels=labels, taints=taints)
    for name in ("default", "other"):
        labels = {"team": chance.choice(["red", "blue"])}
        snapshot.namespaces.add(name=name, labels=labels)
    for index in range(chance.randrange(2, 5)):
        pod_class = _pod_class(snapshot, chance, f"c{index}")
        for pod in range(chance.randrange(1, 3)):
            _add_pod(snapshot, f"p{index}-{pod}", pod_class).node = chance.choice(NODES)
    for index in range(waiting):
        pod_class = _pod_class(snapshot, chance, f"w{index}")
        pod_class.requests.cpu_milli = 1
        _add_pod(snapshot, f"w{index}", pod_class).movable = True
    return snapshot


def crowded_pods(chance: Random, *, waiting: int = 4) -> pb.Snapshot:
    """Return such pods of three priorities on nodes with room for a few of them.

    Two thirds of the running ones may move.
    """
    snapshot = related_pods(chance, waiting=waiting)
    for node in snapshot.nodes:
        node.allocatable.pods = chance.randrange(1, 6)
    for one in snapshot.pod_classes:
        one.priority = chance.randrange(3)
    for pod in snapshot.pods:
        pod.movable = bool(chance.randrange(3))
    return snapshot


def _add_pod(snapshot: pb.Snapshot, name: str, of: pb.PodClass) -> pb.Pod:
    return snapshot.pods.add(
        uid=name, name=name, class_id=of.id, namespace=of.namespace
    )


def _pod_class(snapshot: pb.Snapshot, chance: Random, name: str) -> pb.PodClass:
    one = snapshot.pod_classes.add(id=name, requests=pb.Resources())
    one.namespace = chance.choice(["default", "default", "other"])
    one.labels.update(app=chance.choice(APPS), version=chance.choice(APPS))
    if not chance.randrange(3):
        port = chance.choice([80, 81])
        one.host_ports.add(port=port, host_ip=chance.choice(["", "10.0.0.1"]))
    if not chance.randrange(4):
        one.node_selector["disk"] = "ssd"
    if not chance.randrange(4):
        one.tolerations.add(key="t", operator="Exists")
    if not chance.randrange(3):
        for _ in range(chance.randrange(1, 3)):
            _fill_term(one.required_pod_affinity.add(), chance)
    if not chance.randrange(3):
        _fill_term(one.required_pod_anti_affinity.add(), chance)
    if not chance.randrange(3):
        for key in chance.sample(["host", "zone"], chance.randrange(1, 3)):
            _fill_spread(one.topology_spread.add(topology_key=key), chance)
    return one


def _fill_term(term: pb.PodAffinityTerm, chance: Random) -> None:
    term.topology_key = chance.choice(["host", "zone"])
    if chance.randrange(8):
        _fill_selector(term.label_selector, chance)
    term.match_label_keys.extend(chance.choice([[], [], ["version"], ["none"]]))
    if not term.match_label_keys:
        term.mismatch_label_keys.extend(chance.choice([[], [], ["version"]]))
    term.namespaces.extend(chance.choice([[], [], ["default"], ["other"]]))
    if not chance.randrange(3):
        term.namespace_selector.SetInParent()
        if chance.randrange(3):
            team = chance.choice(["red", "blue"])
            term.namespace_selector.match_labels["team"] = team


def _fill_selector(selector: pb.LabelSelector, chance: Random) -> None:
    match chance.randrange(4):
        case 0:
            selector.SetInParent()
        case 1:
            operator = chance.choice(["In", "NotIn"])
            values = [chance.choice(APPS)]
            selector.match_expressions.add(key="app", operator=operator, values=values)
        case _:
            selector.match_labels["app"] = chance.choice(APPS)


def _fill_spread(spread: pb.TopologySpreadConstraint, chance: Random) -> None:
    spread.max_skew = chance.choice([1, 1, 2])
    spread.when_unsatisfiable = "DoNotSchedule"
    if chance.randrange(8):
        _fill_selector(spread.label_selector, chance)
        spread.match_label_keys.extend(chance.choice([[], [], ["version"]]))
    spread.min_domains = chance.choice([0, 0, 1, 2, 3])
    spread.node_affinity_policy = chance.choice(["", "Honor", "Ignore"])
    spread.node_taints_policy = chance.choice(["", "Honor", "Ignore"])
