"""What was seen, so that a slider can go back through it: a beginning, and changes.

Everything is a whole number in an array. A pod is four of them, a change of it six, so that an hour of a hundred
changes a second takes some megabytes. When the log is full, its oldest quarter becomes part of the beginning.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from stowage_testbed.api.client import ask
from stowage_testbed.api.kinds import OURS
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.plan import nodes_of, summary, told_price

if TYPE_CHECKING:
    from kubernetes.client import ApiClient


GONE = 0  # The phase of a pod of which a row says nothing more
POD_COLUMNS = 4  # Kind, node, phase and why, by their numbers; -1 is none
POD_ENTRY = 2 + POD_COLUMNS  # Of the log: milliseconds, row, columns
MOST_ENTRIES = 400_000  # Changes of pods that are kept: more than an hour of a hundred a second
FOLDED = 4  # One part in so many is given up when the log is full
NO_POD = array("i", (-1, -1, GONE, -1))
_PHASE = 2


def pack(numbers: array[int]) -> str:
    """Return an array as text that a browser reads back in one go."""
    return base64.b64encode(numbers.tobytes()).decode("ascii")


class _Log:
    """What the rows of one table were at the beginning, and their changes since: milliseconds, row, columns."""

    def __init__(self, nothing: Sequence[int]) -> None:
        self._nothing = nothing
        self._first = array("i")
        self._changes = array("i")
        self._dropped = 0
        self._width = 2 + len(nothing)

    def __len__(self) -> int:
        return len(self._changes) // self._width

    def begin(self, rows: Sequence[int]) -> None:
        self._first = array("i", rows)

    def append(self, at_ms: int, row: int, columns: Iterable[int]) -> None:
        self._changes.extend((at_ms, row, *columns))

    def count(self) -> int:
        """Return how many changes have come in all."""
        return self._dropped + len(self)

    def moment(self, number: int) -> int:
        """Return when a change that is kept came, in milliseconds."""
        return self._changes[number * self._width]

    def fold(self, until_ms: int) -> None:
        """Make what came until a moment part of the beginning; what was seen at one moment stays together."""
        columns, first = len(self._nothing), 0
        while first < len(self._changes) and self._changes[first] <= until_ms:
            at = self._changes[first + 1] * columns
            while len(self._first) < at + columns:
                self._first.extend(self._nothing)
            self._first[at : at + columns] = self._changes[first + 2 : first + self._width]
            first += self._width
        self._dropped += first // self._width
        del self._changes[:first]

    def list_forgotten(self) -> set[int]:
        """Return the rows of pods that are gone, and that no change speaks of."""
        phases = self._first[_PHASE :: len(self._nothing)]
        return {row for row, phase in enumerate(phases) if phase == GONE} - set(self._changes[1 :: self._width])

    def packed(self, until: int) -> tuple[str, str]:
        """Return the beginning, and so many changes of all that came."""
        return pack(self._first), pack(self._changes[: max(0, until - self._dropped) * self._width])


class History:
    """The beginning and the log of one watch, of at most so many changes of pods."""

    def __init__(self, most: int = MOST_ENTRIES) -> None:
        self._most = most
        self.since_ms = 0
        self._nodes, self._pods = _Log((-1,)), _Log(NO_POD)

    def begin(self, nodes: Sequence[int], pods: array[int]) -> None:
        """Take what is there at the beginning."""
        self._nodes.begin(nodes)
        self._pods.begin(pods)

    def append(self, at_ms: int, nodes: Mapping[int, int], pods: Mapping[int, Iterable[int]]) -> set[int]:
        """Take the changes of one moment by their rows; return the rows of pods that may be used again."""
        for row, kind in nodes.items():
            self._nodes.append(at_ms, row, (kind,))
        for row, columns in pods.items():
            self._pods.append(at_ms, row, columns)
        if len(self._pods) <= self._most:
            return set()
        self.since_ms = self._pods.moment(len(self._pods) // FOLDED)
        self._pods.fold(self.since_ms)
        self._nodes.fold(self.since_ms)
        return self._pods.list_forgotten()

    def entries(self) -> tuple[int, int]:
        """Return how many changes of nodes and of pods have come in all."""
        return self._nodes.count(), self._pods.count()

    def past(self, until: tuple[int, int] | None = None) -> dict[str, object]:
        """Return the beginning and the log, packed; nothing that came after `entries` returned ``until``."""
        nodes, pods = self.entries() if until is None else until
        first_nodes, node_log = self._nodes.packed(nodes)
        first_pods, pod_log = self._pods.packed(pods)
        return {
            "since": self.since_ms,
            "nodes": first_nodes,
            "pods": first_pods,
            "nodeLog": node_log,
            "podLog": pod_log,
        }


_REVIEW = "authorization.k8s.io/v1"

MOST_STEPS = 2000  # Moves, placements and evictions of a plan that are listed, of each so many
MOST_BYTES = 8 * 2**20  # Of all versions together; the oldest go first, and never the last of a plan

Version = tuple[int, str, msgspec.Raw]  # Milliseconds, the plan's name, and what it was like; ``null`` is gone
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
