"""Waiting for the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import pytest
from kubernetes import client
from silent_cluster import SilentCluster
from watched_pods import NAMESPACE, life

from stowage_testbed.base.wait import wait_until
from stowage_testbed.observe import audit
from stowage_testbed.observe.audit import BEGINNING, AuditEntry
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run import catching_up
from stowage_testbed.run.context import RunContext

BINDINGS = 6


def a_binding(number: int) -> bytes:
    target = {
        "resource": "pods",
        "subresource": "binding",
        "namespace": NAMESPACE,
        "name": f"p{number}",
    }
    record = {
        "stage": "ResponseComplete",
        "verb": "create",
        "objectRef": target,
        "responseStatus": {"code": 201},
        "stageTimestamp": "2026-01-01T00:00:01.000001Z",
    }
    return msgspec.json.encode(record) + b"\n"


@dataclass(slots=True)
class Growing:
    """A clock whose every pause lasts until there is one more binding."""

    log: Path
    bindings: int = 0

    def now(self) -> float:
        return 0.0

    def pause(self, _seconds: float) -> None:
        with self.log.open("ab") as file:
            file.write(a_binding(self.bindings))
        self.bindings += 1


def test_a_log_that_is_waited_for_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To start again at each look took longer than the look's pause at 10,000 pods."""
    cluster, parse, parsed = SilentCluster(tmp_path), audit._read_entry, list[bytes]()
    clock = Growing(cluster.audit_log)
    clock.pause(0)

    def counted(line: bytes) -> AuditEntry:
        parsed.append(line)
        return parse(line)

    monkeypatch.setattr(audit, "_read_entry", counted)
    monkeypatch.setattr(catching_up, "wait_until", partial(wait_until, clock=clock))
    api = client.ApiClient()
    context = RunContext(cluster, api, Observer(api), tag="test")
    changes = [
        change for number in range(BINDINGS) for change in life(f"p{number}", 1, 2, 3)
    ]

    entries = catching_up.read_audit(context, BEGINNING, changes, NAMESPACE)

    assert [entry.name for entry in entries] == [f"p{n}" for n in range(BINDINGS)]
    assert len(parsed) == BINDINGS
