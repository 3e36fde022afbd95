"""Reservations report what their pods take, and no pod waits for room that is free."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stowage_testbed.amounts.resources import PODS, Resources, add_up
from stowage_testbed.invariants.history import History
from stowage_testbed.invariants.selector import selects
from stowage_testbed.invariants.violation import Violation
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.pod_body import controller_of, key_of, node_of, requests_of, takes_room
from stowage_testbed.observe.receipt import NS_PER_S

TAKEN = "stowage.dev/reservation-allocated"
KEPT_OUT = "the room that is free is reserved for others"
"""What the plugin Reservations says of a node that it refuses."""

REPORTED_AFTER_NS = 5 * NS_PER_S
"""How long a pod may still report room that is free again: it is retried at once."""


def reservations_balance(history: History) -> Iterator[Violation]:
    """Yield reservations whose status is not the sum of the pods that took of them.

    Only an owner on the reservation's node takes anything, whatever others say.
    """
    claims: dict[str, list[JsonObject]] = {}
    for body in history.present("Pod").values():
        uid = taken_from(body)
        if uid and takes_room(body):
            claims.setdefault(uid, []).append(body)
    for body in history.present("Reservation").values():
        metadata, status = body["metadata"], body.get("status") or {}
        if status.get("phase") != "Available":
            continue
        owners = (body.get("spec") or {}).get("owners") or ()
        taken = add_up(
            requests_of(pod).without(PODS)
            for pod in claims.get(metadata["uid"], ())
            if node_of(pod) == status.get("nodeName") and any(_selected(one, pod) for one in owners)
        )
        reported = Resources.of_list(status.get("allocated") or {})
        if reported != taken:
            yield Violation("reservation-books", metadata["name"], f"it reports {reported}, its pods take {taken}")


def no_room_left_held(history: History) -> Iterator[Violation]:
    """Yield pods that are kept out at the end of room that is not held any more."""
    ended_ns = last_ns = 0
    for change in history.changes:
        last_ns = change.receipt.monotonic_ns
        if change.kind in {"Reservation", "PackingPlan"}:
            ended_ns = last_ns
    if last_ns - ended_ns < REPORTED_AFTER_NS:
        return
    pods = history.present("Pod").values()
    held = [*history.present("Reservation").values()]
    for body in kept_out(pods, held, history.present("PackingPlan").values()):
        yield Violation("room-left-held", key_of(body), "it waits for it still")


def kept_out(
    pods: Iterable[JsonObject], reservations: Iterable[JsonObject], plans: Iterable[JsonObject]
) -> Iterator[JsonObject]:
    """Yield the pods that are kept out of reserved room although none is reserved."""
    executing = any((plan.get("status") or {}).get("phase") == "Executing" for plan in plans)
    if executing or any(reservations):
        return
    for body in pods:
        conditions = (body.get("status") or {}).get("conditions") or ()
        if not node_of(body) and any(
            one["type"] == "PodScheduled" and KEPT_OUT in one.get("message", "") for one in conditions
        ):
            yield body


def taken_from(pod: JsonObject) -> str:
    """Return the UID of what a pod says it took from, empty if of nothing.

    Users write annotations too: one that cannot be read is none, as for the scheduler.
    """
    text = (pod["metadata"].get("annotations") or {}).get(TAKEN, "")
    try:
        taken = json.loads(text)
    except ValueError:
        return ""
    uid = taken.get("uid") if isinstance(taken, dict) else None
    return uid if isinstance(uid, str) else ""


def _selected(owner: Mapping[str, Any], pod: JsonObject) -> bool:
    metadata, controller = pod["metadata"], controller_of(pod)
    namespace = metadata.get("namespace", "")
    here = {"kind": "Pod", **metadata, "namespace": namespace}
    above = {**controller, "namespace": namespace} if controller else {}
    named = {"kind", "namespace", "name", "uid"}
    return (
        bool(owner)
        and _agrees(owner.get("object"), here, named)
        and _agrees(owner.get("controller"), above, named | {"apiVersion"})
        and (owner.get("labelSelector") is None or selects(owner["labelSelector"], metadata.get("labels") or {}))
    )


def _agrees(wanted: Mapping[str, str] | None, found: Mapping[str, Any], names: set[str]) -> bool:
    if wanted is None:
        return True
    asked = {name: wanted[name] for name in names & wanted.keys() if wanted[name]}
    return all(found.get(name) == value for name, value in asked.items())
