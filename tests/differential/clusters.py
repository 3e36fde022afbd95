"""Random clusters that have been filled by the scheduler and have aged since."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.manifests import make_nodes, make_pods
from stowage_testbed.simulate import NO_PROTECTION, Question, Simulator
from tests.differential.draft import Change, Draft, Manifest, named, own
from tests.differential.manifests import REQUIRED, node_manifest, pod_manifest
from tests.differential.pods import add_demands, add_volumes, protect_some
from tests.differential.related_pods import NAMESPACES, NOWHERE, crowded_pods

NAMESPACE = "default"
NAME_LABEL = "kubernetes.io/metadata.name"
"""What the API server labels every namespace with."""

MOST_NUMBERS = 2**31
"""Instances of a cell have different numbers, below this."""

CPU_MILLI = range(100, 600, 100)
NODE_CPU_MILLI = range(600, 1600, 100)


def mixed(rng: Random) -> Draft:
    """Return an instance of the benchmark: the paper's, with constraints."""
    cell = Cell(
        nodes=rng.randint(4, 6),
        pods_per_node=rng.randint(3, 5),
        priorities=rng.randint(1, 4),
        usage_percent=rng.choice((95, 105, 115)),
    )
    case = Case(Family.MIX, cell, rng.randrange(MOST_NUMBERS))
    scenario = case.scenario(attempt=0)
    pods = make_pods(scenario, NAMESPACE)
    for pod in pods:
        own(pod, "ReplicaSet", pod["metadata"]["labels"][WORKLOAD_LABEL])
    return Draft(make_nodes(scenario), pods)


def related(rng: Random) -> Draft:
    """Return pods that demand things of each other, on nodes with room for some."""
    snapshot = crowded_pods(rng, waiting=rng.randint(6, 12))
    for one in snapshot.pod_classes:
        one.requests.cpu_milli = rng.choice(CPU_MILLI)
    draft = Draft(
        [
            node_manifest(node, rng.choice(NODE_CPU_MILLI), node.allocatable.pods + 2)
            for node in snapshot.nodes
        ],
        [],
        [_namespace(name) for name in NAMESPACES],
    )
    for pod in snapshot.pods:
        draft.pods.append(_waiting(snapshot, pod))
    return draft


def _waiting(snapshot: pb.Snapshot, pod: pb.Pod) -> dict[str, object]:
    pod.node = ""
    made = pod_manifest(snapshot, pod)
    (one,) = (found for found in snapshot.pod_classes if found.id == pod.class_id)
    made["spec"]["priority"] = one.priority
    for kind in made["spec"]["affinity"].values():
        for term in kind[REQUIRED]:
            _select_namespaces(term)
    own(made, "ReplicaSet", one.id)
    return made


def _namespace(name: str) -> Manifest:
    metadata = {"name": name, "labels": {NAME_LABEL: name}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _select_namespaces(term: Manifest) -> None:
    """Select by label what else than one namespace ``term`` is about."""
    names = term.get("namespaces", [])
    if len(names) > 1 or NOWHERE in names:
        del term["namespaces"]
        named = {"key": NAME_LABEL, "operator": "In", "values": names}
        every = {*names} >= {*NAMESPACES}
        term["namespaceSelector"] = {} if every else {"matchExpressions": [named]}


FAMILIES = (mixed, related)


NODE_SHARE = 0.25
GONE_SHARE = 0.12
BUDGETS = (0, 0, 1, 2, 3)


def age(rng: Random, draft: Draft) -> None:
    """Change some nodes, let some pods end, and add disruption budgets."""
    for node in draft.nodes:
        if rng.random() < NODE_SHARE:
            rng.choice(CHANGES)(rng, node)
    draft.pods = [
        pod
        for pod in draft.pods
        if not pod["spec"].get("nodeName") or rng.random() >= GONE_SHARE
    ]
    for number in range(rng.choice(BUDGETS)):
        if draft.pods:
            labels = rng.choice(draft.pods)["metadata"]
            draft.objects.append(_budget(rng, f"budget-{number}", labels))


def _cordon(_: Random, node: Manifest) -> None:
    node["spec"]["unschedulable"] = True


def _taint(rng: Random, node: Manifest) -> None:
    effect = rng.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
    taint = {"key": rng.choice(("t", "old")), "effect": effect}
    node["spec"].setdefault("taints", []).append(taint)


def _shrink(rng: Random, node: Manifest) -> None:
    """Leave less room than is taken, perhaps."""
    capacity = node["status"]["capacity"]
    key = rng.choice(("cpu", "pods"))
    less = "300m" if key == "cpu" else "2"
    node["status"] = {"capacity": capacity, "allocatable": {**capacity, key: less}}


def _relabel(rng: Random, node: Manifest) -> None:
    labels = node["metadata"]["labels"]
    if labels and rng.randrange(2):
        del labels[rng.choice(sorted(labels))]
    else:
        labels["generation"] = rng.choice(("1", "2", "new"))


def _budget(rng: Random, name: str, of: Manifest) -> Manifest:
    labels = of["labels"]
    chosen = rng.sample(sorted(labels), min(len(labels), rng.randrange(2)))
    selector: Manifest = {"matchLabels": {key: labels[key] for key in chosen}}
    if not rng.randrange(6):
        selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": of["namespace"], "name": name},
        "spec": {"selector": selector},
        "status": {
            "disruptionsAllowed": rng.randrange(3),
            "currentHealthy": 0,
            "desiredHealthy": 0,
            "expectedPods": 0,
        },
    }


CHANGES: tuple[Change, ...] = (_cordon, _taint, _shrink, _relabel)


STRICT_SHARE = 0.8
MOST_FORBIDDEN = 3


def random_cluster(name: str, rng: Random, simulator: Simulator) -> Question:
    """Return a cluster as a question that has no plans yet.

    Parameters
    ----------
    name
        Names the instance, and the snapshot with it.
    rng
        Source of every random choice.
    simulator
        Fills the cluster, so that no pod runs where it was never allowed.
    """
    draft = rng.choice(FAMILIES)(rng)
    add_demands(rng, draft)
    add_volumes(rng, draft)
    rng.shuffle(draft.pods)
    _fill(draft, name, simulator)
    protect_some(rng, draft)
    age(rng, draft)
    return Question(
        draft.instance(name),
        policy=pb.POLICY_STRICT if rng.random() < STRICT_SHARE else pb.POLICY_PAPER,
        forbidden=_forbidden(rng, draft),
        # Small workloads without a kubelet: hardly any pod could move.
        arguments=NO_PROTECTION,
    )


def _fill(draft: Draft, name: str, simulator: Simulator) -> None:
    """Let the scheduler place the pods in their order, whatever their priorities.

    Among pods of several priorities that it wakes up again, the order would depend on
    the time.
    """
    equals = tuple(
        {**pod, "spec": {**pod["spec"], "priority": 0}} for pod in draft.pods
    )
    nodes = simulator.place(replace(draft.instance(name), pods=equals)).nodes
    for pod in draft.pods:
        node = nodes[named(pod)]
        if node:
            pod["spec"]["nodeName"] = node
            pod["status"] = {"phase": "Running"}


def _forbidden(rng: Random, draft: Draft) -> tuple[tuple[str, str], ...]:
    if not draft.pods:
        return ()
    return tuple(
        (named(rng.choice(draft.pods)), rng.choice(draft.nodes)["metadata"]["name"])
        for _ in range(rng.randrange(MOST_FORBIDDEN))
    )
