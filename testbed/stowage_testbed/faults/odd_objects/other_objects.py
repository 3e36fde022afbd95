"""Odd objects other than pods: nodes, budgets, classes, a reservation.

The nodes take no pods, the budgets select none of the scenario's, and the reservation
asks for more than there is.
"""

from __future__ import annotations

import random
from typing import Any

from stowage_testbed.faults.odd_objects.drawing import huge, labels, selector

MOST_LABELS = 3000
MAX_INT32 = 2**31 - 1
NODE_PREFIX = "odd"
LONGEST_NAME = 253
HIGHEST, LOWEST, NEVER = "odd-highest", "odd-lowest", "odd-never"
RUNTIME = "odd-runtime"


def classes(rng: random.Random) -> list[dict[str, Any]]:
    """Return the classes that odd pods name: priorities and a runtime."""
    priorities = (
        (HIGHEST, 1_000_000_000, "PreemptLowerPriority"),
        (LOWEST, -(2**31), "PreemptLowerPriority"),
        (NEVER, 999_999_999, "Never"),
    )
    return [
        *(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
                "preemptionPolicy": policy,
            }
            for name, value, policy in priorities
        ),
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": RUNTIME},
            "handler": "odd",
            "overhead": {"podFixed": {"memory": huge(rng), "cpu": "1n"}},
        },
    ]


def odd_namespace(name: str, rng: random.Random) -> dict[str, Any]:
    """Return a namespace with thousands of labels."""
    metadata = {"name": name, "labels": labels(rng, MOST_LABELS)}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


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
            "name": rng.choice((name, name.ljust(LONGEST_NAME, "n"))),
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
    wanted = {"requests": {"memory": huge(rng), "cpu": "1n"}}
    container = {"name": "odd", "image": "pause", "resources": wanted}
    owners = [
        {"object": {"kind": "Pod", "namespace": namespace, "name": f"nobody-{number}"}}
        for number in range(99)
    ]
    return {
        "apiVersion": "stowage.dev/v1alpha1",
        "kind": "Reservation",
        "metadata": {"name": name, "labels": labels(rng, MOST_LABELS)},
        "spec": {
            "template": {"spec": {"containers": [container]}},
            "owners": [*owners, {"labelSelector": selector(rng)}],
            "ttl": "0s",
        },
    }


def _budget(
    name: str, namespace: str, selected: dict[str, Any], rng: random.Random
) -> dict[str, Any]:
    amount = rng.choice((0, MAX_INT32, "0%", "100%"))
    bound = rng.choice(("minAvailable", "maxUnavailable"))
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selected, bound: amount},
    }
