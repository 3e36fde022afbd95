"""What was seen, so that a slider can go back through it: a beginning, and changes.

Everything is a whole number in an array. A pod is four of them, a change of it six, so that an hour of a hundred
changes a second takes some megabytes. When the log is full, its oldest quarter becomes part of the beginning.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from stowage_testbed.api.client import ask
from stowage_testbed.api.kinds import OURS
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.plan import nodes_of, summary, told_price

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

GONE = 0  # The phase of a pod of which a row says nothing more
NO_POD = (-1, -1, GONE, -1)  # Kind, node, phase and why of a pod, by their numbers; -1 is none
_PHASE = 2
_FOLDED = 4  # One part in so many is given up when the log is full


def pack(numbers: array[int]) -> str:
    """Return an array as text that a browser reads back in one go."""
    return base64.b64encode(numbers.tobytes()).decode("ascii")


class Table:
    """Rows of numbers: as they are, as they were at the beginning, and each change since with its milliseconds.

    Of a row that nothing is known of, the columns are those of ``nothing``.
    """

    def __init__(self, nothing: tuple[int, ...]) -> None:
        self.now = array("i")
        self.changed: dict[int, tuple[int, ...]] = {}
        self._nothing = array("i", nothing)
        self._first = array("i")
        self._log = array("i")
        self._entry = 2 + len(nothing)
        self._dropped = 0

    def reach(self, row: int) -> None:
        """Have a row, of which nothing may be known yet."""
        while len(self.now) <= row * len(self._nothing):
            self.now.extend(self._nothing)

    def get(self, row: int) -> tuple[int, ...]:
        """Return the columns of a row as they are."""
        width = len(self._nothing)
        return tuple(self.now[row * width : (row + 1) * width])

    def put(self, row: int, *columns: int) -> None:
        """Take what a row is like now."""
        self.reach(row)
        if self.get(row) != columns:
            width = len(columns)
            self.now[row * width : (row + 1) * width] = array("i", columns)
            self.changed[row] = columns

    def begin(self) -> None:
        """Make what is there the beginning."""
        self._first = array("i", self.now)
        self.changed.clear()

    def take_changes(self, at_ms: int) -> list[int]:
        """Return each row that changed since the last call, followed by its columns, and write that down."""
        flat: list[int] = []
        for row, columns in self.changed.items():
            flat += (row, *columns)
            self._log.extend((at_ms, row, *columns))
        self.changed.clear()
        return flat

    def __len__(self) -> int:
        """Return how many changes are kept."""
        return len(self._log) // self._entry

    def count(self) -> int:
        """Return how many changes have come in all."""
        return self._dropped + len(self)

    def oldest_quarter_ms(self) -> int:
        """Return when the oldest quarter of the changes was over."""
        return self._log[len(self) // _FOLDED * self._entry]

    def fold(self, until_ms: int) -> None:
        """Make what came until a moment part of the beginning; what was seen at one moment stays together."""
        columns, first = len(self._nothing), 0
        while first < len(self._log) and self._log[first] <= until_ms:
            at = self._log[first + 1] * columns
            while len(self._first) < at + columns:
                self._first.extend(self._nothing)
            self._first[at : at + columns] = self._log[first + 2 : first + self._entry]
            first += self._entry
        self._dropped += first // self._entry
        del self._log[:first]

    def unused_rows(self) -> set[int]:
        """Return the rows of pods that are gone, and that no change speaks of."""
        phases = self._first[_PHASE :: len(self._nothing)]
        return {row for row, phase in enumerate(phases) if phase == GONE} - set(self._log[1 :: self._entry])

    def packed(self, until: int) -> tuple[str, str]:
        """Return the beginning, and so many changes of all that came."""
        return pack(self._first), pack(self._log[: max(0, until - self._dropped) * self._entry])


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
    emptied = [{**node, "hourlyPrice": told_price(node.get("hourlyPrice", ""))} for node in nodes_of(body)]
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
        "nodes": _rows(emptied, nodes),
        "moves": _rows(status.get("moves"), ("pod", "fromNode", "toNode", "state", "unit")),
        "placements": _rows(status.get("placements"), ("pod", "node", "unit")),
        "evictions": _rows(status.get("evictions"), ("pod", "node", "state", "unit")),
        "protected": _rows(status.get("protected"), protected),
        "objections": _rows(status.get("objections"), said),
        "refusals": _rows(status.get("refusals"), said),
    }


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
