"""What a finished scenario leaves for the bundle and for the evidence of a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from testbed.observe.change import Change, JsonObject


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
        Logs of the release, by phase and container, as in ``optimizer-scheduler``.
    audit_log
        The API server's audit log; the scenario's part lies between the two wall times.
    start_wall_ns, end_wall_ns
        When the scenario began and ended, in nanoseconds of wall time.
    values
        Helm values of each phase.
    scheduler_config
        The scheduler's configuration of each phase, as text.
    """

    namespace: str
    changes: tuple[Change, ...]
    bodies: Mapping[str, list[JsonObject]]
    log_texts: Mapping[str, str]
    audit_log: Path
    start_wall_ns: int
    end_wall_ns: int
    values: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    scheduler_config: Mapping[str, str] = field(default_factory=dict)
