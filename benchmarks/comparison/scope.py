"""How much is compared: everything, forty minutes' worth, or a minute's."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.scope import Scope, ScopeName
from stowage_testbed.reproduce.scorecache import comparisons
from stowage_testbed.reproduce.scorecache.comparisons import Planned


@dataclass(frozen=True, slots=True)
class HarnessScope:
    """How the cost of measuring is measured.

    Attributes
    ----------
    nodes
        Of the cluster; 110 pods each.
    replicas, rounds
        Of the burst that is timed with and without measuring.
    many
        Pods of the burst after which every pod must have been seen.
    """

    nodes: int
    replicas: int
    rounds: int
    many: int


@dataclass(frozen=True, slots=True)
class ComparisonScope(Scope):
    """What a run of the benchmark covers.

    Attributes
    ----------
    comparisons
        In this order.
    score_cache
        Nodes, pods and rounds of the score cache in process; equal pods.
    """

    comparisons: tuple[Planned, ...]
    harness: HarnessScope
    score_cache: tuple[int, int, int]


DEFAULT = ComparisonScope(
    name=ScopeName.DEFAULT,
    comparisons=comparisons.DEFAULT,
    # A burst varies by a tenth from round to round: many small ones tell more.
    harness=HarnessScope(nodes=1000, replicas=1000, rounds=5, many=10_000),
    score_cache=(5000, 10_000, 2),
)

FULL = ComparisonScope(
    name=ScopeName.FULL,
    comparisons=comparisons.FULL,
    harness=HarnessScope(nodes=1000, replicas=1000, rounds=20, many=10_000),
    score_cache=(5000, 20_000, 7),
)

SMOKE = ComparisonScope(
    name=ScopeName.SMOKE,
    comparisons=(
        Planned(
            "deployment-200-small",
            "burst/deployment-200",
            variant="small",
            arms=("default", "stowage-score-cache"),
            rounds=2,
            warm_up=10,
        ),
    ),
    harness=HarnessScope(nodes=5, replicas=100, rounds=1, many=200),
    score_cache=(100, 400, 1),
)

SCOPES = (SMOKE, DEFAULT, FULL)
