"""How much is compared: everything, forty minutes' worth, or a minute's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stowage_testbed.reproduce.scorecache.planned import LIFTED_QPS, Planned

RECOVERY = (
    "ttr_s",
    "recovered_runs",
    "t_capacity_s",
    "ok_rate",
    "t_sched_mean_s",
    "t_ready_mean_s",
    "scheduler_memory_peak_bytes",
)


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
class Scope:
    """What a run of the benchmark covers.

    Attributes
    ----------
    name
        Stands in the results.
    comparisons
        In this order.
    score_cache
        Nodes, pods and rounds of the score cache in process; equal pods.
    """

    name: str
    comparisons: tuple[Planned, ...]
    harness: HarnessScope
    score_cache: tuple[int, int, int]


_DEPLOYMENT = Planned("deployment-200", "burst/deployment-200", rounds=3, own=True)
_COLD = replace(_DEPLOYMENT, name="deployment-200-cold", rounds=2, own=False, warm_up=0)
_LIFTED = Planned("scale-1000-lifted", "burst/scale-1000", rounds=1, qps=LIFTED_QPS,
                  burst=LIFTED_QPS)  # fmt: skip
_HELD_BACK = Planned("scale-1000-at-100-qps", "burst/scale-1000", rounds=1,
                        qps=100, burst=100)  # fmt: skip
_RECOVERY = Planned("recovery", "hpa/recovery", rounds=2, metrics=RECOVERY)
_OUTCOMES = tuple(
    replace(
        _RECOVERY,
        name=f"recovery-{variant}",
        variant=variant,
        arms=("default",),
        rounds=1,
    )
    for variant in ("too-few", "plenty")
)

DEFAULT = Scope(
    name="default",
    comparisons=(_DEPLOYMENT, _COLD, _RECOVERY, *_OUTCOMES, _LIFTED, _HELD_BACK),
    # A burst varies by a tenth from round to round: many small ones tell more.
    harness=HarnessScope(nodes=1000, replicas=1000, rounds=5, many=10_000),
    score_cache=(5000, 10_000, 2),
)

FULL = Scope(
    name="full",
    comparisons=(
        replace(_DEPLOYMENT, rounds=10),
        replace(_COLD, rounds=10),
        replace(_RECOVERY, rounds=5),
        *_OUTCOMES,
        replace(_RECOVERY, name="recovery-full", variant="full", rounds=3),
        replace(_LIFTED, rounds=5),
        replace(_HELD_BACK, rounds=3),
        replace(_LIFTED, name="scale-5000-lifted", scenario="burst/scale-5000"),
    ),
    harness=HarnessScope(nodes=1000, replicas=1000, rounds=20, many=10_000),
    score_cache=(5000, 20_000, 7),
)

SMOKE = Scope(
    name="smoke",
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

SCOPES = {one.name: one for one in (SMOKE, DEFAULT, FULL)}
"""By the name that the command line gives them."""
