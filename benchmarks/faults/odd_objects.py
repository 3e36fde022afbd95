"""The fault of objects that are legal and odd, before a plan and in its middle.

Which ways of being odd there are stands in ``odd_objects.yaml``. The nodes take no
pods, the budgets select none of the scenario's, and the reservation asks for more than
there is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from string import Template
from typing import Any

import yaml

from benchmarks.faults.context import FaultContext
from stowage_testbed.api.client import Manifest
from stowage_testbed.run.environment import LONGEST_NAME, await_account

_OBJECTS: Mapping[str, Any] = yaml.safe_load(
    files(__package__).joinpath("odd_objects.yaml").read_text("utf-8")
)
ODDITIES: tuple[str, ...] = tuple(_OBJECTS["pods"])
"""All ways in which a pod may be odd."""

LONGEST_OBJECT_NAME = 253
_WORDS = ("", "1", "0", "true", "W" * 63, "a.b_c-d")
"""Values of labels."""


def odd_object(
    part: str, rng: random.Random, name: str = "", namespace: str = ""
) -> Any:
    """Return a part of the file with all its choices made, under a name."""
    return _drawn(_OBJECTS[part], rng, _names(name, namespace))


def _names(name: str, namespace: str) -> dict[str, object]:
    return {
        "name": name,
        "namespace": namespace,
        "long_name": name.ljust(LONGEST_OBJECT_NAME, "n"),
    }


def _drawn(value: Any, rng: random.Random, names: Mapping[str, object]) -> Any:
    match value:
        case {"$one-of": choices}:
            return _drawn(rng.choice(choices), rng, names)
        case {"$labels": most}:
            return {
                f"example.com/{number}-{'k' * rng.choice((1, 40))}": rng.choice(_WORDS)
                for number in range(rng.randint(1, most))
            }
        case dict():
            return {key: _drawn(one, rng, names) for key, one in value.items()}
        case list():
            return [made for one in value for made in _repeated(one, rng, names)]
        case str():
            return Template(value).safe_substitute(names)
        case _:
            return value


def _repeated(
    element: Any, rng: random.Random, names: Mapping[str, object]
) -> Iterator[Any]:
    match element:
        case {"$times": times, "of": one}:
            for number in range(_drawn(times, rng, names)):
                yield _drawn(one, rng, {**names, "n": number})
        case _:
            yield _drawn(element, rng, names)


@dataclass(frozen=True, slots=True)
class OddPod:
    """A pod, and what becomes of it once it is there.

    Attributes
    ----------
    manifest
        As it is created.
    status
        Written over its own.
    ephemeral
        Containers that are added to it.
    deleted
        Whether it is deleted at once, which a finaliser keeps from ending.
    """

    manifest: Manifest
    status: Manifest
    ephemeral: list[Manifest]
    deleted: bool


NOTHING: Mapping[str, Any] = {
    "requests": {"cpu": "0", "memory": "0"},
    "limits": {"memory": "9223372036854775807k"},
}
"""Requests for nothing, beside limits that would else stand for them."""


def odd_pod(name: str, namespace: str, oddity: str, rng: random.Random) -> OddPod:
    """Return a pod that is odd in one way."""
    odd = _drawn(_OBJECTS["pods"][oddity], rng, _names(name, namespace))
    spec = {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "pause"}],
        **odd.get("spec", {}),
    }
    asked = odd.get("asks")
    resources = NOTHING if asked is None else {"requests": asked, "limits": asked}
    spec["containers"][0]["resources"] = resources
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **odd.get("metadata", {})},
        "spec": spec,
    }
    return OddPod(
        manifest,
        status=odd.get("status", {}),
        ephemeral=odd.get("ephemeral", []),
        deleted=odd.get("deleted", False),
    )


EARLY, LATE = "early", "late"
SHARE = 0.6
"""Of all ways of being odd, drawn before the plan is asked for and again amid it."""
NODES = 3
NODE_PREFIX = "odd"


def prepare_odd_objects(context: FaultContext) -> None:
    """Create the first of them, and what all of them need."""
    namespace = odd_place(context.namespace)
    context.on_end(partial(_remove, context, namespace))
    context.objects.create(odd_object("namespace", context.rng, namespace))
    await_account(context.run, namespace)
    for manifest in odd_object("classes", context.rng):
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
        made = objects.create(odd_object("node", rng, f"{NODE_PREFIX}-{number}"))
        capacity = odd_object("capacity", rng)
        status = {"status": {"capacity": capacity, "allocatable": capacity}}
        objects.patch("Node", made["metadata"]["name"], status, subresource="status")
    reservation = _reservation(namespace, word)
    for part, name, place in (
        ("budget", word, namespace),
        ("budget-of-nobody", f"odd-{word}", context.namespace),
        ("reservation", reservation, namespace),
    ):
        objects.create(odd_object(part, rng, name, place))
    oddities = rng.sample(ODDITIES, round(SHARE * len(ODDITIES)))
    for number, oddity in enumerate(oddities):
        pod = odd_pod(f"{word}-{number}", namespace, oddity, rng)
        _create_pod(context, namespace, pod)


def _create_pod(context: FaultContext, namespace: str, pod: OddPod) -> None:
    objects, name = context.objects, pod.manifest["metadata"]["name"]
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
    context.remove_namespace(namespace)


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
