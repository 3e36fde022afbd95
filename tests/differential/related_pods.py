"""Random small snapshots in which pods demand things of each other."""

from collections.abc import Mapping
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb

NODES = ["n0", "n1", "n2", "n3"]
APPS = ["a", "b"]
NAMESPACES = ("default", "other")
NOWHERE = "nowhere"
"""For a selector that matches no namespace: no names would mean the pod's own."""

ROOMY = pb.Resources(cpu_milli=100_000, memory_bytes=100 * 10**9, pods=110)


def related_pods(rng: Random, *, waiting: int = 1) -> pb.Snapshot:
    """Return four nodes in up to two zones, a few running pods and ``waiting`` ones.

    Running pods request nothing, waiting ones 1 milli of CPU.
    """
    snapshot = pb.Snapshot(id="snapshot-1")
    for name in NODES:
        labels = {"host": name, "zone": rng.choice(["x", "y"])}
        for key in list(labels):
            if not rng.randrange(8):
                del labels[key]
        taints = [pb.Taint(key="t", effect="NoSchedule")]
        if rng.randrange(6):
            taints = []
        if rng.randrange(3):
            labels["disk"] = rng.choice(["ssd", "hdd"])
        snapshot.nodes.add(name=name, allocatable=ROOMY, labels=labels, taints=taints)
    teams = {name: rng.choice(["red", "blue"]) for name in NAMESPACES}
    for index in range(rng.randrange(2, 5)):
        pod_class = _pod_class(snapshot, rng, f"c{index}", teams)
        for pod in range(rng.randrange(1, 3)):
            _add_pod(snapshot, f"p{index}-{pod}", pod_class).node = rng.choice(NODES)
    for index in range(waiting):
        pod_class = _pod_class(snapshot, rng, f"w{index}", teams)
        pod_class.requests.cpu_milli = 1
        _add_pod(snapshot, f"w{index}", pod_class).movable = True
    return snapshot


def crowded_pods(rng: Random, *, waiting: int = 4) -> pb.Snapshot:
    """Return such pods of three priorities on nodes with room for a few of them.

    Two thirds of the running ones may move.
    """
    snapshot = related_pods(rng, waiting=waiting)
    for node in snapshot.nodes:
        node.allocatable.pods = rng.randrange(1, 6)
    for one in snapshot.pod_classes:
        one.priority = rng.randrange(3)
    for pod in snapshot.pods:
        pod.movable = bool(rng.randrange(3))
    return snapshot


def _add_pod(snapshot: pb.Snapshot, name: str, of: pb.PodClass) -> pb.Pod:
    return snapshot.pods.add(uid=name, name=name, class_id=of.id, namespace=of.namespace)


def _pod_class(snapshot: pb.Snapshot, rng: Random, name: str, teams: Mapping[str, str]) -> pb.PodClass:
    one = snapshot.pod_classes.add(id=name, requests=pb.Resources())
    one.namespace = rng.choice(["default", "default", "other"])
    one.labels.update(app=rng.choice(APPS), version=rng.choice(APPS))
    if not rng.randrange(3):
        port = rng.choice([80, 81])
        one.host_ports.add(port=port, host_ip=rng.choice(["", "10.0.0.1"]))
    if not rng.randrange(4):
        one.node_selector["disk"] = "ssd"
    if not rng.randrange(4):
        one.tolerations.add(key="t", operator="Exists")
    if not rng.randrange(3):
        for _ in range(rng.randrange(1, 3)):
            _fill_term(one.required_pod_affinity.add(), rng, teams)
    if not rng.randrange(3):
        _fill_term(one.required_pod_anti_affinity.add(), rng, teams)
    if not rng.randrange(3):
        for key in rng.sample(["host", "zone"], rng.randrange(1, 3)):
            _fill_spread(one.topology_spread.add(topology_key=key), rng)
    return one


def _fill_term(term: pb.PodAffinityTerm, rng: Random, teams: Mapping[str, str]) -> None:
    term.topology_key = rng.choice(["host", "zone"])
    if rng.randrange(8):
        _fill_selector(term.label_selector, rng)
    term.match_label_keys.extend(rng.choice([[], [], ["version"], ["none"]]))
    if not term.match_label_keys:
        term.mismatch_label_keys.extend(rng.choice([[], [], ["version"]]))
    names = {*rng.choice([[], [], ["default"], ["other"]])}
    if not rng.randrange(3):
        names |= _selected(rng, teams)
    term.namespaces.extend(sorted(names))


def _selected(rng: Random, teams: Mapping[str, str]) -> set[str]:
    """Return the namespaces that a selector chooses: all, or those of a team."""
    if not rng.randrange(3):
        return {*teams}
    team = rng.choice(["red", "blue"])
    return {name for name in teams if teams[name] == team} or {NOWHERE}


def _fill_selector(selector: pb.LabelSelector, rng: Random) -> None:
    match rng.randrange(4):
        case 0:
            selector.SetInParent()
        case 1:
            operator = rng.choice(["In", "NotIn"])
            values = [rng.choice(APPS)]
            selector.match_expressions.add(key="app", operator=operator, values=values)
        case _:
            selector.match_labels["app"] = rng.choice(APPS)


def _fill_spread(spread: pb.TopologySpreadConstraint, rng: Random) -> None:
    spread.max_skew = rng.choice([1, 1, 2])
    spread.when_unsatisfiable = "DoNotSchedule"
    if rng.randrange(8):
        _fill_selector(spread.label_selector, rng)
        spread.match_label_keys.extend(rng.choice([[], [], ["version"]]))
    spread.min_domains = rng.choice([0, 0, 1, 2, 3])
    spread.node_affinity_policy = rng.choice(["", "Honor", "Ignore"])
    spread.node_taints_policy = rng.choice(["", "Honor", "Ignore"])
