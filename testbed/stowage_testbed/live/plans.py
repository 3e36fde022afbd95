"""PackingPlans as the page shows them, and the versions of each that were seen."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from stowage_testbed.api.client import ask
from stowage_testbed.api.kinds import OURS
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.plan import nodes_of, summary, told_price

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

_REVIEW = "authorization.k8s.io/v1"

MOST_STEPS = 2000
"""Moves, placements and evictions of a plan that are listed, of each so many."""

MOST_BYTES = 8 * 2**20
"""Of all versions together; the oldest go first, and never the last of a plan."""

Version = tuple[int, str, msgspec.Raw]
"""Milliseconds, the plan's name, and what it was like; ``null`` is gone."""

_GONE = msgspec.Raw(b"null")


def see_plan(body: JsonObject) -> dict[str, Any]:
    """Return what a PackingPlan's JSON says of it now."""
    spec, status = body.get("spec") or {}, body.get("status") or {}
    tiers = ("priority", "placedBefore", "placed", "upperBound", "optimal")
    nodes = ("name", "hourlyPrice", "moves", "gain", "state", "message")
    protected = ("reason", "pods", "example", "inTheWayOf")
    said = ("subject", "reason", "detail")
    return {
        "name": body["metadata"]["name"],
        "created": body["metadata"].get("creationTimestamp", ""),
        "phase": status.get("phase", ""),
        "mode": spec.get("executionMode", "DryRun"),
        "trigger": spec.get("trigger", ""),
        "message": status.get("message", ""),
        "end": status.get("endReason", ""),
        "optimal": bool(status.get("optimal")),
        "seconds": float(status.get("solveSeconds") or 0),
        "counts": [len(status.get(what) or ()) for what in ("placements", "moves", "evictions")],
        "tiers": _rows(status.get("tiers"), tiers),
        "emptying": [line.strip() for line in summary(body)],
        "nodes": _rows(map(_priced, nodes_of(body)), nodes),
        "moves": _rows(status.get("moves"), ("pod", "fromNode", "toNode", "state")),
        "placements": _rows(status.get("placements"), ("pod", "node")),
        "evictions": _rows(status.get("evictions"), ("pod", "node", "state")),
        "protected": _rows(status.get("protected"), protected),
        "objections": _rows(status.get("objections"), said),
        "refusals": _rows(status.get("refusals"), said),
    }


def _priced(node: JsonObject) -> JsonObject:
    """Return what is said of a node that is emptied, with its price as people read."""
    return {**node, "hourlyPrice": told_price(node.get("hourlyPrice", ""))}


def _rows(items: Iterable[JsonObject] | None, fields: Collection[str]) -> list[list[Any]]:
    chosen = list(items or ())[:MOST_STEPS]
    return [[one.get(field, "") for field in fields] for one in chosen]


def may_change_plans(api: ApiClient) -> bool:
    """Return whether who is asked as may patch PackingPlans, as the API server itself answers."""
    review = {
        "apiVersion": _REVIEW,
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"group": OURS, "resource": "packingplans", "verb": "patch"}},
    }
    path = f"/apis/{_REVIEW}/selfsubjectaccessreviews"
    answer = ask(api, "POST", path, "tell what you may do with plans", review)
    return bool((answer.get("status") or {}).get("allowed"))


class PlanLog:
    """Every version of every plan that was seen, as far as there is room."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._versions: list[Version] = []
        self._last: dict[str, msgspec.Raw] = {}
        self._new: dict[str, msgspec.Raw] = {}

    def take(self, name: str, plan: dict[str, Any] | None) -> None:
        """Take what a plan is like now; None if it is gone."""
        raw = _GONE if plan is None else msgspec.Raw(msgspec.json.encode(plan))
        if self._last.get(name) != raw:
            self._last[name] = self._new[name] = raw

    def keep_only(self, names: Collection[str]) -> None:
        """Take that all other plans are gone."""
        for name in self._last.keys() - set(names):
            self.take(name, None)

    def take_new(self, at_ms: int) -> list[tuple[str, msgspec.Raw]]:
        """Return the plans that changed since the last call, as of this moment."""
        if not self._new:
            return []
        new, self._new = list(self._new.items()), {}
        self._versions += [(at_ms, name, raw) for name, raw in new]
        self._last = {name: raw for name, raw in self._last.items() if raw != _GONE}
        self._make_room()
        return new

    def forget_before(self, at_ms: int) -> None:
        """Leave out versions that were followed by another at or before a moment."""
        if not self._versions or self._versions[0][0] >= at_ms:
            return
        last = {name: at for at, name, _ in self._versions if at <= at_ms}
        self._versions = [one for one in self._versions if one[0] >= last.get(one[1], one[0])]

    def _make_room(self) -> None:
        over = sum(len(raw) for _, _, raw in self._versions) - self._most_bytes
        if over <= 0:
            return
        last = {name: number for number, (_, name, _) in enumerate(self._versions)}
        kept = []
        for number, one in enumerate(self._versions):
            if over > 0 and last[one[1]] != number:
                over -= len(one[2])
            else:
                kept.append(one)
        self._versions = kept

    def now(self) -> list[tuple[str, msgspec.Raw]]:
        """Return each plan as it is."""
        return list(self._last.items())

    def past(self) -> list[Version]:
        """Return the versions in the order in which they were seen."""
        return list(self._versions)
