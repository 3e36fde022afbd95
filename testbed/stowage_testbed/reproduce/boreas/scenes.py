"""The paper's two tests, its two larger ones, and the operators that it leaves out.

Sizes and demands are those of the authors' published test files: `github.com/torgeirl/
boreas-scheduler`, folder ``deployments/2021-paper``, the tests 1 and 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowage_testbed.cluster.node_pool import ZONE_LABEL
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.reproduce.boreas.published import (
    AFFINITY,
    AFFINITY_8,
    AFFINITY_12,
    MINIMAL,
)
from stowage_testbed.reproduce.boreas.relations import Requirement, affinity, spread
from stowage_testbed.reproduce.boreas.scene import Scene, app_in
from stowage_testbed.scenario.model import Workload

MB = 1_000_000
ZONES = ("a", "b")


def scenes() -> tuple[Scene, ...]:
    """Return them all, the paper's first."""
    return (*_of_the_paper(), *_with_other_operators())


def _of_the_paper() -> tuple[Scene, ...]:
    minimal = (
        _deployment("backend", 3, 300, 500),
        _deployment("proxy", 2, 450, 600),
    )
    return (
        Scene("minimal", "all CPU is needed", 2, minimal, published=MINIMAL),
        Scene("affinity", "83 % of CPU", 4, _shop(), published=AFFINITY),
        Scene("affinity-8", "twice as large", 8, _shop(2), published=AFFINITY_8),
        Scene("affinity-12", "thrice as large", 12, _shop(3), published=AFFINITY_12),
    )


def _with_other_operators() -> tuple[Scene, ...]:
    """Return the affinity test with its relations said, or meant, otherwise."""
    return (
        Scene(
            "not-in", "NotIn: every app but some", 4,
            _shop(
                frontends=_app_not_in("backend", "cache", "proxy"),
                backends=_app_not_in("frontend", "cache", "proxy"),
            ),
        ),
        Scene(
            "exists", "Exists: whoever has the label", 4,
            _shop(frontends=_labelled("frontend"), backends=_labelled("backend")),
        ),
        Scene(
            "does-not-exist", "DoesNotExist: whoever lacks the label", 4,
            _shop(
                frontends=_unlabelled("not-frontend"),
                backends=_unlabelled("not-backend"),
            ),
        ),
        Scene(
            "zones", "near and apart by zone", 4, zones=ZONES,
            workload=(
                _deployment(
                    "backend", 3, 300, 500,
                    affinity(
                        near=app_in("frontend"), near_by=ZONE_LABEL,
                        apart=app_in("backend"),
                    ),
                ),
                _deployment("cache", 3, 200, 400),
                _deployment(
                    "frontend", 3, 300, 400, affinity(apart=app_in("frontend"))
                ),
                _deployment(
                    "proxy", 2, 300, 600,
                    affinity(apart=app_in("proxy"), apart_by=ZONE_LABEL),
                ),
            ),
        ),
        Scene(
            "spread", "spread over zones", 4, zones=ZONES,
            workload=(
                _deployment(
                    "backend", 3, 300, 500,
                    affinity(near=app_in("frontend"), apart=app_in("backend")),
                ),
                _deployment("cache", 3, 200, 400, spread(ZONE_LABEL, app_in("cache"))),
                _deployment(
                    "frontend", 3, 300, 400, affinity(apart=app_in("frontend"))
                ),
                _deployment("proxy", 2, 300, 600, spread(ZONE_LABEL, app_in("proxy"))),
            ),
        ),
    )  # fmt: skip


def _shop(
    times: int = 1,
    *,
    frontends: Requirement | None = None,
    backends: Requirement | None = None,
) -> tuple[Workload, ...]:
    """Return the shop of the affinity test.

    Parameters
    ----------
    times
        How large it is: 11 pods each time.
    frontends, backends
        How relations name the two; by their label, if not otherwise.
    """
    frontend = frontends or app_in("frontend")
    backend = backends or app_in("backend")
    near = affinity(near=frontend, apart=backend)
    return (
        _deployment("backend", 3 * times, 300, 500, near),
        _deployment("cache", 3 * times, 200, 400),
        _deployment("frontend", 3 * times, 300, 400, affinity(apart=frontend)),
        _deployment("proxy", 2 * times, 300, 600),
    )


APPS = ("backend", "cache", "frontend", "proxy")


def _deployment(
    name: str,
    replicas: int,
    cpu_milli: int,
    megabytes: int,
    pod: Mapping[str, Any] | None = None,
) -> Workload:
    """Return one of the apps; it has a label for what it is, and for what it is not."""
    labels = {name: "", **{f"not-{one}": "" for one in APPS if one != name}}
    return Workload(
        name, replicas, cpu_milli, megabytes * MB, "Deployment",
        labels=labels, pod=pod or {},
    )  # fmt: skip


def _app_not_in(*names: str) -> Requirement:
    return {"key": WORKLOAD_LABEL, "operator": "NotIn", "values": list(names)}


def _labelled(key: str) -> Requirement:
    return {"key": key, "operator": "Exists"}


def _unlabelled(key: str) -> Requirement:
    return {"key": key, "operator": "DoesNotExist"}
