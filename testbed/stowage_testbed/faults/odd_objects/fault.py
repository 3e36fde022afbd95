"""The fault of objects that are legal and odd, before a plan and in its middle."""

from __future__ import annotations

from functools import partial

from stowage_testbed.faults.context import FaultContext
from stowage_testbed.faults.odd_objects.other_objects import (
    NODE_PREFIX,
    budget_of_nobody,
    classes,
    odd_budget,
    odd_capacity,
    odd_namespace,
    odd_node,
    odd_reservation,
)
from stowage_testbed.faults.odd_objects.pods import ODDITIES, OddPod, odd_pod
from stowage_testbed.observe.settled import pods_gone
from stowage_testbed.run.environment import LONGEST_NAME, await_account
from stowage_testbed.scenario.model import Scenario

EARLY, LATE = "early", "late"
SHARE = 0.6
"""Of all ways of being odd, drawn before the plan is asked for and again amid it."""
NODES = 3


def prepare_odd_objects(context: FaultContext, _scenario: Scenario) -> None:
    """Create the first of them, and what all of them need."""
    namespace = odd_place(context.namespace)
    context.on_end(partial(_remove, context, namespace))
    context.objects.create(odd_namespace(namespace, context.rng))
    await_account(context.run, namespace)
    for manifest in classes(context.rng):
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        context.on_end(partial(context.objects.delete, kind, name))
        context.objects.create(manifest, or_keep=True)
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
    for pod in objects.listed("Pod", namespace):
        _let_go(context, "Pod", pod, namespace)
    objects.delete_all("Pod", namespace)
    for word in (EARLY, LATE):
        objects.delete("PodDisruptionBudget", word, namespace=namespace)
        objects.delete(
            "PodDisruptionBudget", f"odd-{word}", namespace=context.namespace
        )
        objects.delete("Reservation", _reservation(namespace, word))
    for node in objects.listed("Node"):
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
