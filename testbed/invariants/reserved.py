"""The books of reservations balance, and plans leave none behind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from testbed.invariants.history import History
from testbed.invariants.pod import Amounts, amounts_of, requests_of, takes_room
from testbed.invariants.violation import Violation
from testbed.observe.change import JsonObject

PLAN_LABEL = "stowage.dev/plan"
TAKEN = "stowage.dev/reservation-allocated"


def reservations_balance(history: History) -> Iterator[Violation]:
    """Yield reservations whose status is not the sum of the pods that took of them."""
    taken: dict[str, Counter[str]] = {}
    for body in history.present("Pod").values():
        uid = _taken_from(body)
        if uid and takes_room(body):
            taken.setdefault(uid, Counter()).update(_without_pods(requests_of(body)))
    for body in history.present("Reservation").values():
        metadata, status = body["metadata"], body.get("status") or {}
        if status.get("phase") != "Available":
            continue
        told = +Counter(amounts_of(status.get("allocated") or {}))
        real = +taken.get(metadata["uid"], Counter())
        if told != real:
            yield Violation(
                "reservation-books",
                metadata["name"],
                f"it tells {dict(told)}, its pods take {dict(real)}",
            )


def no_reservation_leaked(history: History) -> Iterator[Violation]:
    """Yield reservations of plans that are still there at the end."""
    for body in history.present("Reservation").values():
        plan = (body["metadata"].get("labels") or {}).get(PLAN_LABEL)
        if plan:
            yield Violation(
                "reservation-leaked", body["metadata"]["name"], f"left by plan {plan}"
            )


def _taken_from(pod: JsonObject) -> str:
    """Return the UID of the reservation that a pod took from, empty if of none.

    Users write annotations too: one that cannot be read is none, as for the scheduler.
    """
    text = (pod["metadata"].get("annotations") or {}).get(TAKEN, "")
    try:
        taken = json.loads(text)
    except ValueError:
        return ""
    uid = taken.get("uid") if isinstance(taken, dict) else None
    return uid if isinstance(uid, str) else ""


def _without_pods(amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in amounts.items() if name != "pods"}
