"""Random clusters that the scheduler has filled and that have aged since."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import yaml
from mixed_instances import mixed_scenario

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.instances import Cell
from stowage_testbed.scenario.simulation import make_pods
from stowage_testbed.simulate.instance import NO_PROTECTION, Instance, Question
from stowage_testbed.simulate.process import Simulator
from tests.differential.manifests import REQUIRED, node_manifest, pod_manifest
from tests.differential.related_pods import NAMESPACES, NOWHERE, crowded_pods

Manifest = dict[str, Any]

CHANGES = yaml.safe_load(Path(__file__).with_name("changes.yaml").read_text("utf-8"))
NAME_LABEL = "kubernetes.io/metadata.name"
"""What the API server labels every namespace with."""

DEMANDING = PROTECTED = 0.15
MOUNTING = 0.08
CHANGED_NODES = 0.25
GONE = 0.12
STRICT = 0.8


@dataclass(slots=True)
class Draft:
    """A cluster in the making: manifests that may still be changed."""

    nodes: list[Manifest]
    pods: list[Manifest]
    objects: list[Manifest] = field(default_factory=list)

    def instance(self, name: str) -> Instance:
        """Return the cluster as it is by now."""
        return Instance(name, tuple(self.nodes), tuple(self.pods), tuple(self.objects))


def named(pod: Mapping[str, Any]) -> str:
    """Return ``namespace/name``."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def own(pod: Manifest, name: str) -> None:
    """Give ``pod`` to a ReplicaSet."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name}
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]


def merge(into: Manifest, patch: Manifest) -> Manifest:
    """Apply a merge patch of JSON to ``into``, and return it."""
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = deepcopy(value)
    return into


def random_cluster(name: str, rng: Random, simulator: Simulator) -> Question:
    """Return a cluster as a question that has no plans yet.

    ``simulator`` fills it, so that no pod runs where it was never allowed.
    """
    draft = rng.choice((_mixed, _related))(rng)
    _demand(rng, draft)
    rng.shuffle(draft.pods)
    _fill(draft, name, simulator)
    _age(rng, draft)
    forbidden = [
        (named(rng.choice(draft.pods)), rng.choice(draft.nodes)["metadata"]["name"])
        for _ in range(rng.randrange(3) if draft.pods else 0)
    ]
    return Question(
        draft.instance(name),
        policy=pb.POLICY_STRICT if rng.random() < STRICT else pb.POLICY_PAPER,
        forbidden=tuple(forbidden),
        # Small workloads without a kubelet: hardly any pod could move.
        arguments=NO_PROTECTION,
    )


def _mixed(rng: Random) -> Draft:
    """Return an instance of the benchmark: the paper's, with constraints."""
    cell = Cell(
        nodes=rng.randint(4, 6),
        pods_per_node=rng.randint(3, 5),
        priorities=rng.randint(1, 4),
        usage_percent=rng.choice((95, 105, 115)),
    )
    scenario = mixed_scenario(cell, rng.randrange(2**31))
    pods = [deepcopy(pod) for pod in make_pods(scenario, "default")]
    for pod in pods:
        own(pod, pod["metadata"]["labels"][WORKLOAD_LABEL])
    return Draft([deepcopy(node) for node in scenario.first_nodes], pods)


def _related(rng: Random) -> Draft:
    """Return pods that demand things of each other, on nodes with room for some."""
    snapshot = crowded_pods(rng, waiting=rng.randint(6, 12))
    classes = {one.id: one for one in snapshot.pod_classes}
    for one in snapshot.pod_classes:
        one.requests.cpu_milli = rng.randrange(100, 600, 100)
    draft = Draft([], [])
    for node in snapshot.nodes:
        cpu_milli = rng.randrange(600, 1600, 100)
        draft.nodes.append(node_manifest(node, cpu_milli, node.allocatable.pods + 2))
    for name in NAMESPACES:
        metadata = {"name": name, "labels": {NAME_LABEL: name}}
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        draft.objects.append(namespace)
    for pod in snapshot.pods:
        pod.node = ""
        made = pod_manifest(snapshot, pod)
        made["spec"]["priority"] = classes[pod.class_id].priority
        for kind in made["spec"]["affinity"].values():
            for term in kind[REQUIRED]:
                _select_namespaces(term)
        own(made, pod.class_id)
        draft.pods.append(made)
    return draft


def _select_namespaces(term: Manifest) -> None:
    """Select by label what else than one namespace ``term`` is about."""
    names = term.get("namespaces", [])
    if len(names) > 1 or NOWHERE in names:
        del term["namespaces"]
        chosen = {"key": NAME_LABEL, "operator": "In", "values": names}
        every = {*names} >= {*NAMESPACES}
        term["namespaceSelector"] = {} if every else {"matchExpressions": [chosen]}


def _demand(rng: Random, draft: Draft) -> None:
    """Let some pods demand something, and some nodes have what is asked for."""
    for node in draft.nodes:
        room = node["status"].get("allocatable", node["status"]["capacity"])
        gpu = {"example.com/gpu": "1"} if not rng.randrange(3) else {}
        node["status"] = dict.fromkeys(("capacity", "allocatable"), room | gpu)
    for pod in draft.pods:
        if rng.random() < DEMANDING:
            merge(pod, rng.choice(CHANGES["demands"]))
        if rng.random() < MOUNTING:
            draft.objects += _mount(rng, pod, rng.choice(draft.nodes)["metadata"])


def _mount(rng: Random, pod: Manifest, node: Manifest) -> list[Manifest]:
    """Let ``pod`` mount a claim; return it with its volume, if it is bound to one."""
    of = {key: pod["metadata"][key] for key in ("namespace", "name")}
    mounted = {"name": "data", "persistentVolumeClaim": {"claimName": of["name"]}}
    pod["spec"]["volumes"] = [mounted]
    claim = merge(deepcopy(CHANGES["claim"]), {"metadata": of})
    if not rng.randrange(4):
        return [claim]
    name = f"{of['namespace']}-{of['name']}"
    bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    merge(claim, {"metadata": bound, "spec": {"volumeName": name}, "status": {"phase": "Bound"}})
    volume = deepcopy(CHANGES["volume"])
    merge(volume, {"metadata": {"name": name}, "spec": {"claimRef": of}})
    if rng.randrange(3):
        term = {"matchFields": [_is_in("metadata.name", node["name"])]}
        if node["labels"] and rng.randrange(4):
            key = rng.choice(sorted(node["labels"]))
            term = {"matchExpressions": [_is_in(key, node["labels"][key])]}
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return [claim, volume]


def _is_in(key: str, value: str) -> Manifest:
    return {"key": key, "operator": "In", "values": [value]}


def _fill(draft: Draft, name: str, simulator: Simulator) -> None:
    """Let the scheduler place the pods in their order, whatever their priorities.

    Among pods of several priorities that it wakes up again, the order would depend on the time.
    """
    equals = tuple({**pod, "spec": {**pod["spec"], "priority": 0}} for pod in draft.pods)
    nodes = simulator.place(replace(draft.instance(name), pods=equals)).nodes
    for pod in draft.pods:
        node = nodes[named(pod)]
        if node:
            pod["spec"]["nodeName"] = node
            pod["status"] = {"phase": "Running"}


def _age(rng: Random, draft: Draft) -> None:
    """Protect some pods, let some end, change some nodes, and add budgets."""
    running = [pod for pod in draft.pods if pod["spec"].get("nodeName")]
    for pod in running:
        if rng.random() < PROTECTED:
            merge(pod, rng.choice(CHANGES["protections"]))
        if rng.random() < GONE:
            draft.pods.remove(pod)
    for node in draft.nodes:
        if rng.random() < CHANGED_NODES:
            merge(node, rng.choice(CHANGES["nodes"]))
    for number in range(rng.choice((0, 0, 1, 2, 3)) if draft.pods else 0):
        draft.objects.append(_budget(rng, number, rng.choice(draft.pods)["metadata"]))


def _budget(rng: Random, number: int, of: Manifest) -> Manifest:
    labels = of["labels"]
    chosen = rng.sample(sorted(labels), min(len(labels), rng.randrange(2)))
    selector: Manifest = {"matchLabels": {key: labels[key] for key in chosen}}
    if not rng.randrange(6):
        selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    counts = dict.fromkeys(("currentHealthy", "desiredHealthy", "expectedPods"), 0)
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": of["namespace"], "name": f"budget-{number}"},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": rng.randrange(3), **counts},
    }
