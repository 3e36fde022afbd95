"""Hard affinity and spread between pods, as their specs say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowage_testbed.instances.constraint_mix import HOSTNAME
from stowage_testbed.instances.snapshot import REQUIRED

Requirement = Mapping[str, object]


def affinity(
    *,
    near: Requirement | None = None,
    apart: Requirement | None = None,
    near_by: str = HOSTNAME,
    apart_by: str = HOSTNAME,
) -> dict[str, Any]:
    """Return the part of a pod's spec that keeps it near some pods, and off others.

    Parameters
    ----------
    near, apart
        Which pods, as one requirement on their labels.
    near_by, apart_by
        The topology key: what counts as one place.
    """
    found: dict[str, Any] = {}
    if near is not None:
        found["podAffinity"] = {REQUIRED: [_term(near, near_by)]}
    if apart is not None:
        found["podAntiAffinity"] = {REQUIRED: [_term(apart, apart_by)]}
    return {"affinity": found}


def spread(over: str, whom: Requirement) -> dict[str, Any]:
    """Return the part of a pod's spec that spreads it and its like, one off at most."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": over,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchExpressions": [dict(whom)]},
    }
    return {"topologySpreadConstraints": [constraint]}


def _term(whom: Requirement, key: str) -> dict[str, Any]:
    return {
        "labelSelector": {"matchExpressions": [dict(whom)]},
        "topologyKey": key,
    }
