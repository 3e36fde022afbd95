"""The paper's two tests, its two larger ones, and the operators that it leaves out.

Seed 004: Lebesbye, Mauro, Turin, Yu, "Boreas - A Service Scheduler for Optimal Kubernetes Deployment", section 4. Sizes
and demands are those of the authors' published test files: `github.com/torgeirl/boreas-scheduler`, folder
``deployments/2021-paper``, the tests 1 and 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from stowage_testbed.amounts.resources import MOST_PODS, Resources
from stowage_testbed.cluster import NodePool
from stowage_testbed.cluster.node_pool import ZONE_LABEL
from stowage_testbed.instances.case import HOSTNAME
from stowage_testbed.instances.snapshot import REQUIRED
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.model import Scenario, Workload, make_steps
from stowage_testbed.scenario.steps.applying import Apply

RUNS = 100
"""Repetitions of the minimal and of the affinity test."""


class Published(NamedTuple):
    """Percent of the paper's runs in which every pod got a node, if it says so, and mean seconds of Boreas's solve."""

    default_percent: float | None
    boreas_percent: float | None
    solve_s: float


MINIMAL = Published(0, 100, 1.82)
AFFINITY = Published(34, 100, 2.15)
AFFINITY_8 = Published(None, None, 2.92)
AFFINITY_12 = Published(None, None, 4.22)


NODE = Resources(cpu=900, memory=3_972_000_000, pods=MOST_PODS)
"""What a node of the paper's cluster has left for pods, of one CPU and 4 GB; the
system's own pods take the rest (listing 1.1, and the authors' test files)."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One test, its zones dealt out in turn, its workload in the order of its files, beside the paper's figures."""

    name: str
    about: str
    nodes: int
    workload: tuple[Workload, ...]
    zones: tuple[str, ...] = ()
    published: Published | None = None

    @property
    def pods(self) -> int:
        """Return how many pods it has."""
        return sum(one.replicas for one in self.workload)

    @property
    def pool(self) -> NodePool:
        """Return its nodes."""
        return NodePool(self.name, self.nodes, NODE, zones=self.zones)

    def scenario(self, arm: str, number: int) -> Scenario:
        """Return its deployment at once; node names are new in each run, as KWOK may overlook a known one."""
        pool = replace(self.pool, name_prefix=f"{self.name}-{number}")
        names = tuple(one.name for one in self.workload)
        return Scenario(
            name=f"boreas/{self.name}-{arm}",
            description=self.about,
            nodes=(pool,),
            workload=self.workload,
            steps=make_steps([Apply(names)]),
        )

    @property
    def fewest_nodes(self) -> int:
        """Return how many nodes it takes at least, by CPU, which is what is scarce."""
        asked = sum(one.replicas * one.requests["cpu"] for one in self.workload)
        return -(-asked // NODE["cpu"])


Requirement = Mapping[str, object]


def app_in(*names: str, operator: str = "In") -> Requirement:
    """Return the requirement that a pod is of one of these workloads, or of none."""
    return {"key": WORKLOAD_LABEL, "operator": operator, "values": list(names)}


def affinity(
    *,
    near: Requirement | None = None,
    apart: Requirement | None = None,
    near_by: str = HOSTNAME,
    apart_by: str = HOSTNAME,
) -> dict[str, Any]:
    """Return a pod's (anti-)affinity to others; ``near_by`` and ``apart_by`` are topology keys."""
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
    return {"labelSelector": {"matchExpressions": [dict(whom)]}, "topologyKey": key}


MB = 1_000_000
ZONES = ("a", "b")


def scenes() -> tuple[Scene, ...]:
    """Return them all, the paper's first."""
    return (*_of_the_paper(), *_with_other_operators())


def _of_the_paper() -> tuple[Scene, ...]:
    minimal = (_deployment("backend", 3, 300, 500), _deployment("proxy", 2, 450, 600))
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
                frontends=app_in("backend", "cache", "proxy", operator="NotIn"),
                backends=app_in("frontend", "cache", "proxy", operator="NotIn"),
            ),
        ),
        Scene(
            "exists", "Exists: whoever has the label", 4,
            _shop(
                frontends={"key": "frontend", "operator": "Exists"},
                backends={"key": "backend", "operator": "Exists"},
            ),
        ),
        Scene(
            "does-not-exist", "DoesNotExist: whoever lacks the label", 4,
            _shop(
                frontends={"key": "not-frontend", "operator": "DoesNotExist"},
                backends={"key": "not-backend", "operator": "DoesNotExist"},
            ),
        ),
        Scene(
            "zones", "near and apart by zone", 4, zones=ZONES,
            workload=_shop(
                backend=affinity(near=app_in("frontend"), near_by=ZONE_LABEL, apart=app_in("backend")),
                proxy=affinity(apart=app_in("proxy"), apart_by=ZONE_LABEL),
            ),
        ),
        Scene(
            "spread", "spread over zones", 4, zones=ZONES,
            workload=_shop(
                cache=spread(ZONE_LABEL, app_in("cache")), proxy=spread(ZONE_LABEL, app_in("proxy")),
            ),
        ),
    )  # fmt: skip


def _shop(
    times: int = 1,
    *,
    frontends: Requirement | None = None,
    backends: Requirement | None = None,
    **pods: Mapping[str, Any],
) -> tuple[Workload, ...]:
    """Return the shop of the affinity test, 11 pods each time; ``pods`` has other parts of pods by app."""
    frontend = frontends or app_in("frontend")
    backend = backends or app_in("backend")
    parts = {"backend": affinity(near=frontend, apart=backend), "frontend": affinity(apart=frontend), **pods}
    return (
        _deployment("backend", 3 * times, 300, 500, parts["backend"]),
        _deployment("cache", 3 * times, 200, 400, parts.get("cache")),
        _deployment("frontend", 3 * times, 300, 400, parts["frontend"]),
        _deployment("proxy", 2 * times, 300, 600, parts.get("proxy")),
    )


APPS = ("backend", "cache", "frontend", "proxy")


def _deployment(
    name: str, replicas: int, cpu_milli: int, megabytes: int, pod: Mapping[str, Any] | None = None
) -> Workload:
    """Return one of the apps; it has a label for what it is, and for what it is not."""
    labels = {name: "", **{f"not-{one}": "" for one in APPS if one != name}}
    return Workload(
        name, replicas, Resources(cpu=cpu_milli, memory=megabytes * MB), "Deployment",
        labels=labels, pod=pod or {},
    )  # fmt: skip
