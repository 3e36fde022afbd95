"""Reading the API server's audit log: the second, independent clock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from testbed.observe.errors import AuditLogMissingError

NS_PER_US = 1000
HTTP_FIRST_FAILURE = 300


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One finished request.

    Attributes
    ----------
    stage_ns
        Wall time of the answer in nanoseconds, from a stamp with microseconds.
    uid
        The UID that an eviction insists on; empty if it takes whoever has the name.
    """

    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    user: str
    code: int
    stage_ns: int
    line: str
    uid: str = ""

    def creates(self, resource: str, subresource: str) -> bool:
        """Tell whether something of this kind was created with success."""
        return (
            self.verb == "create"
            and self.resource == resource
            and self.subresource == subresource
            and self.code < HTTP_FIRST_FAILURE
        )


def audit_end(path: Path) -> int:
    """Return the log's length in bytes now: where later entries begin."""
    return path.stat().st_size if path.is_file() else 0


def audit_entries(path: Path, start: int = 0) -> Iterator[AuditEntry]:
    """Yield the finished requests of an audit log in order.

    A last line that is still being written is left out.

    Parameters
    ----------
    path
        The log.
    start
        What `audit_end` gave earlier: entries before it are left out, so that a long
        run need not read a long log again and again.

    Raises
    ------
    AuditLogMissingError
        There is no such file.
    """
    if not path.is_file():
        raise AuditLogMissingError(path)
    with path.open("rb") as log:
        if 0 < start <= audit_end(path):
            # One byte earlier, to find the first whole line also if it begins here.
            log.seek(start - 1)
            log.readline()
        for line in log:
            if line.endswith(b"\n") and b'"stage":"ResponseComplete"' in line:
                text = line.decode()
                yield _entry(json.loads(text), text)


def binding_times_ns(entries: Iterable[AuditEntry]) -> dict[str, int]:
    """Return ``namespace/name`` of each pod bound with success, and when."""
    return {
        f"{entry.namespace}/{entry.name}": entry.stage_ns
        for entry in entries
        if entry.creates("pods", "binding")
    }


def creation_times_ns(entries: Iterable[AuditEntry], namespace: str) -> list[int]:
    """Return when pods of a namespace were created with success, in order.

    Which pod each of them is, the log does not tell: a controller leaves the name to
    the server, and the log has the request's.
    """
    return sorted(
        entry.stage_ns
        for entry in entries
        if entry.creates("pods", "") and entry.namespace == namespace
    )


def _entry(record: dict[str, Any], line: str) -> AuditEntry:
    target = record.get("objectRef") or {}
    return AuditEntry(
        verb=record["verb"],
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        user=record.get("user", {}).get("username", ""),
        code=int((record.get("responseStatus") or {}).get("code", 0)),
        stage_ns=_nanoseconds(record["stageTimestamp"]),
        line=line,
        uid=_demanded_uid(record.get("requestObject") or {}),
    )


def _demanded_uid(eviction: Mapping[str, Any]) -> str:
    options = eviction.get("deleteOptions") or {}
    return str((options.get("preconditions") or {}).get("uid") or "")


def _nanoseconds(stamp: str) -> int:
    moment = datetime.fromisoformat(stamp)
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * NS_PER_US
