"""The fault of objects that are legal and odd, before a plan and in its middle.

The generator of the Go tests makes them (``scheduler/oddobjects``), and ``odd_objects.jsonl`` keeps some of every kind.
Here they are kept out of everybody's way: pods ask for nothing or fit nowhere, nodes take no pods, budgets beside a
scenario's pods select none, and the reservation asks for more than there is.
"""

import json
import random
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.faults.context import FaultContext
from benchmarks.faults.workloads import reservation_manifest
from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import make_manifest
from stowage_testbed.run.environment import LONGEST_NAME
from stowage_testbed.scenario.steps.context import await_account

_FILE = Path(__file__).with_name("odd_objects.jsonl")
CHOSEN: tuple[Manifest, ...] = tuple(map(json.loads, _FILE.read_text("utf-8").strip().split("\n")))
ODDITY = "stowage.dev/oddity"
"""Annotation that says what is odd about a pod."""

HARMLESS = frozenset({"life", "metadata", "owner", "status", "volumes"})
"""Oddities that are about anything but room and nodes: such pods may run."""
NOBODY = {"example.com/odd": "nobody"}
"""Labels that no pod and no node has."""
NOTHING: Mapping[str, Any] = {"requests": {"cpu": "0", "memory": "0"}, "limits": {"memory": "9223372036854775807k"}}
"""Requests for nothing, beside limits that would else stand for them."""
TAINT = {"key": "example.com/odd", "value": "odd", "effect": "NoSchedule"}
MANY_LABELS = {f"example.com/{number}": "W" * 63 for number in range(3000)}
HIGHEST_PRIORITY = 10**9
"""Of those that are not the system's own."""
CLASSES = {"priority": "priorityClassName", "preemptionPolicy": "priorityClassName", "overhead": "runtimeClassName"}
"""What pods have by the name of a class only."""


def chosen_of(kind: str) -> list[Manifest]:
    """Return the chosen objects of a kind, as the generator made them."""
    return [deepcopy(one) for one in CHOSEN if one["kind"] == kind]


def oddity_of(pod: Manifest) -> str:
    """Return what is odd about a chosen pod."""
    return str(pod["metadata"]["annotations"][ODDITY])


def make_classes(pod: Manifest) -> Iterator[Manifest]:
    """Yield classes of a chosen pod's priority and overhead: pods only name them."""
    spec, name = pod["spec"], _name_class(pod)
    if "priority" in spec:
        value = min(spec["priority"], HIGHEST_PRIORITY)
        policy = spec.get("preemptionPolicy")
        yield make_manifest("scheduling.k8s.io/v1", "PriorityClass", name, value=value, preemptionPolicy=policy)
    if "overhead" in spec:
        overhead = {"podFixed": spec["overhead"]}
        yield make_manifest("node.k8s.io/v1", "RuntimeClass", name, handler="odd", overhead=overhead)


def _name_class(pod: Manifest) -> str:
    return f"odd-{pod['metadata']['name'].rstrip('p')}"


def tame_pod(pod: Manifest, name: str, namespace: str) -> Manifest:
    """Return a chosen pod as it is to be on a cluster, in nobody's way."""
    oddity, metadata, spec = oddity_of(pod), pod["metadata"], pod["spec"]
    named = {"name": name.ljust(len(metadata["name"]), "p"), "namespace": namespace}
    metadata = {**metadata, **named}
    del metadata["uid"]
    # Such a pod is made by a kubelet alone.
    metadata["annotations"].pop("kubernetes.io/config.mirror", None)
    for owner in metadata.get("ownerReferences", ()):
        # It is not there, and what is its would be collected.
        owner["apiVersion"] = "example.com/v1"
    for key, by_name in CLASSES.items():
        if spec.pop(key, None) is not None:
            spec[by_name] = _name_class(pod)
    if oddity != "life":
        spec["terminationGracePeriodSeconds"] = 0
    if oddity in HARMLESS:
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            container["resources"] = NOTHING
    else:
        spec["nodeSelector"] = {**spec.get("nodeSelector", {}), **NOBODY}
    status = pod["status"] if oddity == "status" else {}
    # Times beyond what can be written.
    status.pop("startTime", None)
    return {**pod, "metadata": metadata, "spec": spec, "status": status}


def tame_node(node: Manifest, name: str) -> Manifest:
    """Return a chosen node that takes no pods; its capacity comes by its status."""
    spec = {"unschedulable": True, "taints": [*node["spec"].get("taints", ()), TAINT]}
    made = make_manifest("v1", "Node", name, spec=spec)
    made["metadata"] |= {"labels": node["metadata"].get("labels", {}), "finalizers": ["example.com/never"]}
    return made


def tame_budget(budget: Manifest, name: str, namespace: str, *, of_nobody: bool) -> Manifest:
    """Return a chosen budget, of nobody's pods where others have some."""
    spec = budget["spec"] | ({"selector": {"matchLabels": NOBODY}} if of_nobody else {})
    return make_manifest("policy/v1", "PodDisruptionBudget", name, namespace, spec=spec)


EARLY, LATE = "early", "late"
SHARE = 0.6
"""Of all ways of being odd, drawn before the plan is asked for and again amid it."""
NODES = 3
NODE_PREFIX = "odd"


def prepare(context: FaultContext) -> None:
    """Create the first of them, and what all of them need."""
    namespace = context.beside("odd")
    context.on_end(partial(_remove, context, namespace))
    made = make_manifest("v1", "Namespace", namespace)
    made["metadata"]["labels"] = MANY_LABELS
    context.objects.create(made)
    # At once, since the API server's own watch of them is a moment behind.
    for pod in chosen_of("Pod"):
        for one in make_classes(pod):
            context.create(one, or_keep=True)
    await_account(context.run.observer, namespace)
    _create(context, namespace, EARLY)


def create(context: FaultContext) -> None:
    """Create others, until the fault ends; then all of them go."""
    _create(context, context.beside("odd"), LATE)


def _create(context: FaultContext, namespace: str, word: str) -> None:
    rng, objects = context.rng, context.objects
    first = 0 if word == EARLY else NODES
    for number, node in enumerate(rng.sample(chosen_of("Node"), NODES), start=first):
        made = objects.create(tame_node(node, f"{NODE_PREFIX}-{number}"))
        status = {"status": dict.fromkeys(("capacity", "allocatable"), node["status"].get("allocatable", {}))}
        objects.patch("Node", made["metadata"]["name"], status, subresource="status")
    own, beside = rng.sample(chosen_of("PodDisruptionBudget"), 2)
    context.create(tame_budget(own, word, namespace, of_nobody=False))
    context.create(tame_budget(beside, f"odd-{word}", context.namespace, of_nobody=True))
    # Of more than there is, for many who are not there.
    owners = [{"object": {"kind": "Pod", "namespace": namespace, "name": f"nobody-{number}"}} for number in range(99)]
    name = f"{namespace[: LONGEST_NAME - len(word) - 1]}-{word}"
    reservation = reservation_manifest(name, {"memory": "7Ei", "cpu": "1n"}, owners, ttl="0s")
    reservation["metadata"]["labels"] = MANY_LABELS
    context.create(reservation)
    for number, pod in enumerate(draw_pods(rng)):
        _create_pod(context, namespace, tame_pod(pod, f"{word}-{number}", namespace))


def draw_pods(rng: random.Random) -> list[Manifest]:
    """Return a chosen pod of each of some oddities."""
    pods: dict[str, list[Manifest]] = {}
    for pod in chosen_of("Pod"):
        pods.setdefault(oddity_of(pod), []).append(pod)
    drawn = rng.sample(sorted(pods), round(SHARE * len(pods)))
    return [rng.choice(pods[oddity]) for oddity in drawn]


def _create_pod(context: FaultContext, namespace: str, pod: Manifest) -> None:
    """Create a pod, and bring what only comes later: containers, status, its end."""
    objects, name = context.objects, pod["metadata"]["name"]
    metadata, spec = dict(pod["metadata"]), dict(pod["spec"])
    added = {"ephemeralContainers": spec.pop("ephemeralContainers", [])}
    is_leaving = bool(metadata.pop("deletionTimestamp", None))
    metadata.pop("deletionGracePeriodSeconds", None)
    objects.create({**pod, "metadata": metadata, "spec": spec, "status": {}})
    if any(added.values()):
        objects.patch("Pod", name, {"spec": added}, namespace=namespace, subresource="ephemeralcontainers")
    if pod["status"]:
        objects.patch("Pod", name, {"status": pod["status"]}, namespace=namespace, subresource="status")
    if is_leaving:
        objects.delete("Pod", name, namespace=namespace)


def _remove(context: FaultContext, namespace: str) -> None:
    """Remove all of them, and wait until the pods are gone."""
    objects = context.objects
    for kind, place in (("Pod", namespace), ("Node", "")):
        for body in objects.list_all(kind, place):
            metadata = body["metadata"]
            is_odd = kind == "Pod" or metadata["name"].startswith(f"{NODE_PREFIX}-")
            if is_odd and metadata.get("finalizers"):
                # Which nothing else would remove.
                objects.patch(kind, metadata["name"], {"metadata": {"finalizers": None}}, namespace=place)
            if is_odd and kind == "Node":
                objects.delete(kind, metadata["name"])
    context.remove_namespace(namespace)
