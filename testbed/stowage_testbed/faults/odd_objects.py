"""The fault of objects that are legal and odd, before a plan and in its middle.

The nodes take no pods, the budgets select none of the scenario's, and the reservation
asks for more than there is.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

from stowage_testbed.api.objects import make_manifest
from stowage_testbed.faults.context import FaultContext
from stowage_testbed.faults.odd_pods import (
    HIGHEST,
    LONGEST_OBJECT_NAME,
    LOWEST,
    MAX_INT32,
    MOST_LABELS,
    NEVER,
    ODDITIES,
    RUNTIME,
    OddPod,
    huge,
    labels,
    odd_pod,
    selector,
)
from stowage_testbed.faults.workloads import reservation_manifest
from stowage_testbed.observe.settled import pods_gone
from stowage_testbed.run.environment import LONGEST_NAME, await_account

NODE_PREFIX = "odd"


def classes(rng: random.Random) -> list[dict[str, Any]]:
    """Return the classes that odd pods name: priorities and a runtime."""
    priorities = (
        (HIGHEST, 1_000_000_000, "PreemptLowerPriority"),
        (LOWEST, -(2**31), "PreemptLowerPriority"),
        (NEVER, 999_999_999, "Never"),
    )
    overhead = {"podFixed": {"memory": huge(rng), "cpu": "1n"}}
    return [
        *(
            make_manifest(
                "scheduling.k8s.io/v1",
                "PriorityClass",
                name,
                value=value,
                preemptionPolicy=policy,
            )
            for name, value, policy in priorities
        ),
        make_manifest(
            "node.k8s.io/v1", "RuntimeClass", RUNTIME, handler="odd", overhead=overhead
        ),
    ]


def odd_namespace(name: str, rng: random.Random) -> dict[str, Any]:
    """Return a namespace with thousands of labels."""
    made = make_manifest("v1", "Namespace", name)
    made["metadata"]["labels"] = labels(rng, MOST_LABELS)
    return made


def odd_node(number: int, rng: random.Random) -> dict[str, Any]:
    """Return a node that takes no pods and that no controller manages."""
    name = f"{NODE_PREFIX}-{number}"
    taints = [
        {"key": f"example.com/{taint}", "value": "odd", "effect": "NoSchedule"}
        for taint in range(rng.randint(1, 60))
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": rng.choice((name, name.ljust(LONGEST_OBJECT_NAME, "n"))),
            "labels": labels(rng, MOST_LABELS),
            "finalizers": ["example.com/never"],
        },
        "spec": {"unschedulable": True, "taints": taints},
    }


def odd_capacity(rng: random.Random) -> dict[str, Any]:
    """Return the status of an odd node: what it says that it has."""
    amounts = rng.choice(
        (
            {},
            dict.fromkeys(("cpu", "memory", "pods"), "0"),
            dict.fromkeys(("cpu", "memory", "pods"), "9223372036854775807"),
            {"cpu": "1n", "memory": huge(rng), "example.com/odd": "1"},
        )
    )
    return {"capacity": amounts, "allocatable": amounts}


def odd_budget(name: str, namespace: str, rng: random.Random) -> dict[str, Any]:
    """Return a budget with a random selector, in a namespace of odd pods."""
    return _budget(name, namespace, selector(rng), rng)


def budget_of_nobody(name: str, namespace: str, rng: random.Random) -> dict[str, Any]:
    """Return a budget that selects no pod, by a selector of thousands of values."""
    values = [f"v{number}" for number in range(rng.randint(1, 2000))]
    demand = {"key": "example.com/odd", "operator": "In", "values": values}
    return _budget(name, namespace, {"matchExpressions": [demand]}, rng)


def odd_reservation(name: str, namespace: str, rng: random.Random) -> dict[str, Any]:
    """Return a reservation of more than there is, for owners without number."""
    owners: list[dict[str, Any]] = [
        {"object": {"kind": "Pod", "namespace": namespace, "name": f"nobody-{number}"}}
        for number in range(99)
    ]
    owners.append({"labelSelector": selector(rng)})
    requests = {"memory": huge(rng), "cpu": "1n"}
    made = reservation_manifest(name, requests, owners, ttl="0s")
    made["metadata"]["labels"] = labels(rng, MOST_LABELS)
    return made


def _budget(
    name: str, namespace: str, selected: dict[str, Any], rng: random.Random
) -> dict[str, Any]:
    amount = rng.choice((0, MAX_INT32, "0%", "100%"))
    bound = rng.choice(("minAvailable", "maxUnavailable"))
    spec = {"selector": selected, bound: amount}
    return make_manifest("policy/v1", "PodDisruptionBudget", name, namespace, spec=spec)


EARLY, LATE = "early", "late"
SHARE = 0.6
"""Of all ways of being odd, drawn before the plan is asked for and again amid it."""
NODES = 3


def prepare_odd_objects(context: FaultContext) -> None:
    """Create the first of them, and what all of them need."""
    namespace = odd_place(context.namespace)
    context.on_end(partial(_remove, context, namespace))
    context.objects.create(odd_namespace(namespace, context.rng))
    await_account(context.run, namespace)
    for manifest in classes(context.rng):
        context.create(manifest, or_keep=True)
    _create(context, namespace, EARLY)


def create_odd_objects(context: FaultContext) -> None:
    """Create others, until the fault ends; then all of them go."""
    _create(context, odd_place(context.namespace), LATE)


def odd_place(namespace: str) -> str:
    """Return the namespace of odd objects beside a scenario's."""
    return f"odd-{namespace}"[:LONGEST_NAME].rstrip("-")


def _create(context: FaultContext, namespace: str, word: str) -> None:
    rng, objects = context.rng, context.objects
    first = 0 if word == EARLY else NODES
    for number in range(first, first + NODES):
        made = objects.create(odd_node(number, rng))
        name, status = made["metadata"]["name"], odd_capacity(rng)
        objects.patch("Node", name, {"status": status}, subresource="status")
    objects.create(odd_budget(word, namespace, rng))
    objects.create(budget_of_nobody(f"odd-{word}", context.namespace, rng))
    objects.create(odd_reservation(_reservation(namespace, word), namespace, rng))
    oddities = rng.sample(ODDITIES, round(SHARE * len(ODDITIES)))
    for number, oddity in enumerate(oddities):
        pod = odd_pod(f"{word}-{number}", namespace, oddity, rng)
        _create_pod(context, namespace, pod)


def _create_pod(context: FaultContext, namespace: str, pod: OddPod) -> None:
    objects, name = context.objects, pod.metadata["name"]
    objects.create(pod.manifest)
    if pod.status:
        change = {"status": pod.status}
        objects.patch("Pod", name, change, namespace=namespace, subresource="status")
    if pod.ephemeral:
        change = {"spec": {"ephemeralContainers": pod.ephemeral}}
        objects.patch(
            "Pod", name, change, namespace=namespace, subresource="ephemeralcontainers"
        )
    if pod.deleted:
        objects.delete("Pod", name, namespace=namespace)


def _remove(context: FaultContext, namespace: str) -> None:
    """Remove all of them, and wait until the pods are gone."""
    objects = context.objects
    for pod in objects.list_all("Pod", namespace):
        _let_go(context, "Pod", pod, namespace)
    objects.delete_all("Pod", namespace)
    for word in (EARLY, LATE):
        objects.delete("PodDisruptionBudget", word, namespace=namespace)
        objects.delete(
            "PodDisruptionBudget", f"odd-{word}", namespace=context.namespace
        )
        objects.delete("Reservation", _reservation(namespace, word))
    for node in objects.list_all("Node"):
        name = str(node["metadata"]["name"])
        if name.startswith(f"{NODE_PREFIX}-"):
            _let_go(context, "Node", node, "")
            objects.delete("Node", name)
    context.run.observer.wait_for(
        f"the pods of {namespace} to go",
        pods_gone(namespace),
        timeout_s=context.run.timeouts.cleanup_s,
    )
    objects.delete("Namespace", namespace)


def _let_go(
    context: FaultContext, kind: str, body: dict[str, object], namespace: str
) -> None:
    """Remove the finalisers, which nothing else would."""
    metadata = body["metadata"]
    assert isinstance(metadata, dict)  # noqa: S101 - narrows plain JSON
    if metadata.get("finalizers"):
        change = {"metadata": {"finalizers": None}}
        context.objects.patch(kind, metadata["name"], change, namespace=namespace)


def _reservation(namespace: str, word: str) -> str:
    return f"{namespace[: LONGEST_NAME - len(word) - 1]}-{word}"
