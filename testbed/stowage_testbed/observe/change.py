"""One change of one object, and the clock by which the moment of its receipt is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from stowage_testbed.observe.raw_body import RawBody
from stowage_testbed.text.tables import plain_table

NS_PER_S = 1_000_000_000

CLOCK_NAME = "watch receipt"  # Name printed beside every percentile that this clock gave
RESOLUTION_S = 0.001  # Best resolution claimed for a receipt: threads of one process take turns


@dataclass(frozen=True, slots=True, order=True)
class Receipt:
    """A moment on the process's clock, in nanoseconds."""

    monotonic_ns: int
    wall_ns: int

    def seconds_since(self, earlier: Receipt) -> float:
        """Return the interval from ``earlier`` to this moment in seconds."""
        return (self.monotonic_ns - earlier.monotonic_ns) / NS_PER_S

    def wall_text(self) -> str:
        """Return the wall time as RFC 3339 with microseconds."""
        moment = datetime.fromtimestamp(self.wall_ns / NS_PER_S, tz=UTC)
        return moment.isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Window:
    """What is measured lies between these two moments."""

    start: Receipt
    stop: Receipt

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return self.stop.seconds_since(self.start)

    def holds(self, moment: Receipt) -> bool:
        """Return whether a moment lies in it."""
        return self.start <= moment <= self.stop

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "start": self.start.wall_text(),
            "stop": self.stop.wall_text(),
            "start_monotonic_ns": self.start.monotonic_ns,
            "stop_monotonic_ns": self.stop.monotonic_ns,
            "length_s": self.length_s,
        }


class ReceiptClock:
    """Stamps receipts: monotonic time, and wall time hung on it once."""

    def __init__(
        self, monotonic_ns: Callable[[], int] = time.monotonic_ns, wall_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._monotonic_ns = monotonic_ns
        self._offset_ns = wall_ns() - monotonic_ns()

    def now(self) -> Receipt:
        """Return this moment."""
        monotonic = self._monotonic_ns()
        return Receipt(monotonic, monotonic + self._offset_ns)


JsonObject = Mapping[str, Any]  # An object of the API as parsed JSON


class Verb(StrEnum):
    """How the object changed; ``LISTED`` was there before the watch began."""

    LISTED = "LISTED"
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Change:
    """One change, as it came."""

    kind: str
    verb: Verb
    receipt: Receipt
    body: JsonObject

    @property
    def uid(self) -> str:
        """The object's UID, its only name that is never used twice."""
        return uid_of(self.body)

    @property
    def namespace(self) -> str:
        """The object's namespace; empty if it has none."""
        return namespace_of(self.body)

    @property
    def name(self) -> str:
        """The object's name."""
        return name_of(self.body)

    def record(self) -> dict[str, Any]:
        """Return the change as one JSON record of a results bundle."""
        return {
            "monotonic_ns": self.receipt.monotonic_ns,
            "wall": self.receipt.wall_text(),
            "verb": self.verb.value,
            "kind": self.kind,
            "object": dict(self.body),
        }


def uid_of(body: JsonObject) -> str:
    """Return an object's UID, for which one that lies on disk is not read."""
    return body.uid if isinstance(body, RawBody) else str(body["metadata"]["uid"])


def namespace_of(body: JsonObject) -> str:
    """Return an object's namespace; empty if it has none."""
    return body.namespace if isinstance(body, RawBody) else str(body["metadata"].get("namespace", ""))


def name_of(body: JsonObject) -> str:
    """Return an object's name."""
    return body.name if isinstance(body, RawBody) else str(body["metadata"]["name"])


def drop_bookkeeping(body: dict[str, Any]) -> dict[str, Any]:
    """Return the object without managed fields, which no reader of a bundle wants."""
    metadata = dict(body.get("metadata", {}))
    metadata.pop("managedFields", None)
    return {**body, "metadata": metadata}


def write_event_table(bodies: Iterable[JsonObject]) -> str:
    """Return events of the API as a table that people read, in their order in time, one a line."""
    rows = [
        [
            body.get("eventTime") or body.get("firstTimestamp") or "-",
            body.get("reportingComponent") or (body.get("source") or {}).get("component", "-"),
            body.get("reason", "-"),
            f"{body['involvedObject'].get('kind', '')}/{body['involvedObject'].get('name', '')}",
            body.get("message", ""),
        ]
        for body in bodies
    ]
    rows.sort(key=lambda row: str(row[0]))
    return plain_table(("time", "from", "reason", "about", "message"), rows) + "\n"
