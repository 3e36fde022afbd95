"""What a finished scenario leaves for the bundle and for the evidence of a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stowage_testbed.observe.audit import BEGINNING, AuditMark
from stowage_testbed.observe.change import Change, JsonObject


@dataclass(frozen=True, slots=True)
class Material:
    """Raw records of one scenario, valid until the listener returns.

    Attributes
    ----------
    changes
        Every change the watches saw while the scenario ran, in order of receipt.
    bodies
        Objects as last seen, by kind: pods and events of the scenario's namespace, all
        nodes, all plans.
    log_texts
        Logs of the release, by profile and container, as in ``optimizer-scheduler``.
    audit_log, audit_start
        The API server's audit log, and where the scenario's part of it begins.
    values
        Helm values of each profile.
    scheduler_config
        The scheduler's configuration of each profile, as text.
    """

    namespace: str
    changes: tuple[Change, ...]
    bodies: Mapping[str, list[JsonObject]]
    log_texts: Mapping[str, str]
    audit_log: Path
    audit_start: AuditMark = BEGINNING
    values: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    scheduler_config: Mapping[str, str] = field(default_factory=dict)
