"""Small random clusters whose pods are tied: by budgets, demands, owners and limits.

Small enough for `tests.differential.proofs.oracle`, which tries every plan. Everything is drawn
from one seed, so that a case is named by its number.
"""

from bisect import bisect
from dataclasses import dataclass
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb

ZONE, HOST, DISK = "zone", "host", "disk"
GIB = 2**30
CLASSES = 4
HUGE = 7
"""Every so many cases have a node with more than sums of 64 bits hold."""

ANTI_AFFINITY, AFFINITY, SPREAD = range(3)


@dataclass(frozen=True, slots=True)
class Case:
    """A snapshot, and the limits that a plan for it is to keep within."""

    snapshot: pb.Snapshot
    options: pb.SolveOptions


def make_case(seed: int, time_limit_s: float = 2.0) -> Case:
    """Return case ``seed``; every other one has no demands, every third has limits.

    Its work is counted, so that no clock decides about the answer.
    """
    rng = Random(seed)  # noqa: S311 - not for secrets
    snapshot = pb.Snapshot(id=f"case-{seed}")
    room = {}
    for index in range(rng.choice([2, 3, 3])):
        name = f"n{index}"
        labels = {HOST: name}
        if _chance(rng, 0.9):
            labels[ZONE] = "ab"[index % 2]
        if _chance(rng, 0.3):
            labels[DISK] = "ssd"
        memory, pods = rng.choice([6, 7, 8, 8]), rng.choice([3, 4, 110, 110])
        offered = pb.Resources(cpu_milli=9000, memory_bytes=memory * GIB, pods=pods)
        snapshot.nodes.add(name=name, allocatable=offered, labels=labels)
        room[name] = [memory, pods]
    demands = seed % 2 == 0
    classes = [_pod_class(snapshot, rng, number, demands) for number in range(CLASSES)]
    wants = {one.id: one.requests.memory_bytes // GIB for one in classes}
    # Where few classes run, budgets are tight more often.
    common = classes[: rng.choice([1, 2, 2, 2, CLASSES])]
    for index in range(rng.choice([4, 5, 6])):
        one, node = rng.choice(common), rng.choice(snapshot.nodes)
        left = room[node.name]
        kept_off = one.node_selector and DISK not in node.labels
        if left[0] < wants[one.id] or left[1] < 1 or kept_off:
            continue
        left[0] -= wants[one.id]
        left[1] -= 1
        pod = _add_pod(snapshot, f"r{index}", one, node.name)
        if _chance(rng, 0.15):
            pod.movable = False
            pod.immovable_reason = rng.choice(["opted-out", "opted-out", "terminating"])
    for index in range(rng.choice([1, 1, 2])):
        _add_pod(snapshot, f"p{index}", rng.choice([*classes, *classes[2:]]))
    _add_budgets(snapshot, rng)
    _forbid_some(snapshot, rng)
    options = pb.SolveOptions(time_limit_s=time_limit_s, deterministic=True)
    if seed % 3 == 0:
        _add_limits(options, rng)
    _exempt_some(snapshot, rng)
    _enlarge(rng.choice(snapshot.nodes).allocatable, seed, rng)
    return Case(snapshot, options)


def _enlarge(room: pb.Resources, seed: int, rng: Random) -> None:
    """Offer what device plugins and simulators of nodes do, up to all that fits."""
    if seed % HUGE == 0:
        room.memory_bytes = rng.choice([10**18, 2**60 + 1, 2**63 - 1])
        room.cpu_milli = rng.choice([9000, 2**63 - 1])


def _add_pod(snapshot: pb.Snapshot, name: str, of: pb.PodClass, node: str = "") -> pb.Pod:
    return snapshot.pods.add(uid=name, name=name, namespace=of.namespace, class_id=of.id, node=node, movable=True)


def _pod_class(snapshot: pb.Snapshot, rng: Random, number: int, demands: bool) -> pb.PodClass:
    name = f"c{number}"
    # Those that mostly run are small, those that mostly wait are large.
    sizes = [1, 2, 2, 3] if number < CLASSES // 2 else [3, 4, 5, 6, 7]
    memory = rng.choice(sizes) * GIB
    one = snapshot.pod_classes.add(
        id=name,
        namespace="default",
        priority=rng.choice([0, 0, 0, 10]),
        requests=pb.Resources(cpu_milli=10, memory_bytes=memory),
    )
    one.labels["app"] = name
    if _chance(rng, 0.5):
        one.labels["group"] = "x"
    owner = f"owner-{number // 2}"
    one.owner.kind, one.owner.name, one.owner.uid = "ReplicaSet", owner, owner
    if _chance(rng, 0.1):
        one.node_selector[DISK] = "ssd"
    if _chance(rng, 0.08):
        one.host_ports.add(protocol="TCP", port=80)
    if demands:
        _add_demand(one, rng)
    return one


def _add_demand(one: pb.PodClass, rng: Random) -> None:
    kind, key = bisect((0.2, 0.35, 0.6), rng.random()), rng.choice([HOST, ZONE])
    terms = {ANTI_AFFINITY: one.required_pod_anti_affinity, AFFINITY: one.required_pod_affinity}
    if kind in terms:
        term = terms[kind].add(topology_key=key)
        term.label_selector.CopyFrom(_selector(rng))
    elif kind == SPREAD:
        own = pb.LabelSelector(match_labels={"app": one.labels["app"]})
        one.topology_spread.add(
            max_skew=rng.choice([1, 1, 2]),
            topology_key=key,
            when_unsatisfiable="DoNotSchedule",
            node_affinity_policy="Honor",
            node_taints_policy="Ignore",
            min_domains=rng.choice([0, 0, 0, 2, 3]),
            label_selector=own if _chance(rng, 0.7) else _selector(rng),
        )


def _selector(rng: Random) -> pb.LabelSelector:
    if _chance(rng, 0.5):
        return pb.LabelSelector(match_labels={"app": f"c{rng.randrange(CLASSES)}"})
    return pb.LabelSelector(match_labels={"group": "x"})


def _add_budgets(snapshot: pb.Snapshot, rng: Random) -> None:
    choices = [{"app": f"c{number}"} for number in range(CLASSES)] + [{"group": "x"}]
    for number, labels in enumerate(choices):
        if _chance(rng, 0.75 if "app" in labels else 0.1):
            snapshot.disruption_budgets.add(
                namespace="default",
                name=f"budget-{number}",
                selector=pb.LabelSelector(match_labels=labels),
                disruptions_allowed=rng.choice([0, 1, 1, 1, 1, 1, 1, 2, 3]),
            )


def _forbid_some(snapshot: pb.Snapshot, rng: Random) -> None:
    if _chance(rng, 0.1):
        snapshot.forbidden_pairs.add(class_id=rng.choice(snapshot.pod_classes).id, node=rng.choice(snapshot.nodes).name)


def _exempt_some(snapshot: pb.Snapshot, rng: Random) -> None:
    """Have pods not be ready under budgets that let these go, and keep to none."""
    labels = {one.id: one.labels for one in snapshot.pod_classes}
    for budget in snapshot.disruption_budgets:
        ((key, value),) = budget.selector.match_labels.items()
        if _chance(rng, 0.3):
            for pod in snapshot.pods:
                if pod.node and labels[pod.class_id].get(key) == value:
                    pod.exempt_from_budget |= _chance(rng, 0.4)


def _add_limits(options: pb.SolveOptions, rng: Random) -> None:
    if _chance(rng, 0.5):
        options.max_moves = rng.randrange(4)
    if _chance(rng, 0.4):
        options.max_evictions = rng.randrange(3)
    if _chance(rng, 0.4):
        options.max_disruptions_per_owner = rng.choice([1, 1, 2])


def _chance(rng: Random, share: float) -> bool:
    return rng.random() < share
