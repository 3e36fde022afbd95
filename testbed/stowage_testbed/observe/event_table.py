"""Events of the API as a table that people read."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.observe.change import JsonObject
from stowage_testbed.text.tables import plain_table

HEADERS = ("time", "from", "reason", "about", "message")


def write_event_table(bodies: Iterable[JsonObject]) -> str:
    """Return the events in their order in time, one a line."""
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
    return plain_table(HEADERS, rows) + "\n"
