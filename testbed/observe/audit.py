"""Reading the API server's audit log: the second, independent clock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from testbed.observe.errors import AuditLogMissingError

NS_PER_US = 1000


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One finished request.

    Attributes
    ----------
    stage_ns
        Wall time of the answer in nanoseconds, from a stamp with microseconds.
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


def audit_entries(path: Path) -> Iterator[AuditEntry]:
    """Yield the finished requests of an audit log in order.

    A last line that is still being written is left out.

    Raises
    ------
    AuditLogMissingError
        There is no such file.
    """
    if not path.is_file():
        raise AuditLogMissingError(path)
    with path.open(encoding="utf-8") as log:
        for line in log:
            if line.endswith("\n") and '"stage":"ResponseComplete"' in line:
                yield _entry(json.loads(line), line)


def audit_slice(path: Path, start_ns: int, end_ns: int) -> Iterator[AuditEntry]:
    """Yield the entries answered between two wall times in nanoseconds."""
    for entry in audit_entries(path):
        if start_ns <= entry.stage_ns <= end_ns:
            yield entry


def binding_times_ns(entries: Iterator[AuditEntry]) -> dict[str, int]:
    """Return ``namespace/name`` of each pod bound with success, and when."""
    return {
        f"{entry.namespace}/{entry.name}": entry.stage_ns
        for entry in entries
        if entry.verb == "create"
        and entry.resource == "pods"
        and entry.subresource == "binding"
        and entry.code < 300  # noqa: PLR2004 - the first status that is no success
    }


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
    )


def _nanoseconds(stamp: str) -> int:
    moment = datetime.fromisoformat(stamp)
    return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * NS_PER_US
