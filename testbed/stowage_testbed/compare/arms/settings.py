"""How a scheduler under comparison runs, whatever it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """How fast a scheduler may ask the API server: requests a second, and at once."""

    qps: float
    burst: int


@dataclass(frozen=True, slots=True)
class ArmSettings:
    """What two arms must have in common for a fair pair, as they will really run.

    `qps` and `burst` are ``None`` where the scheduler has no client limits. `parallelism` counts goroutines that filter
    and score, `sampled_percent` is the share of nodes that are scored, ``None`` for the adaptive default. `webhooks`
    come with the arm, and `notes` say what else is special and cannot be made equal. `kubernetes` is the version of its
    cluster's control plane.
    """

    version: str
    qps: float | None
    burst: int | None
    parallelism: int | None
    sampled_percent: int | None
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    webhooks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kubernetes: str = ""
