"""The comparisons: forty minutes' worth, and all of them with more rounds."""

from __future__ import annotations

from dataclasses import replace

from stowage_testbed.reproduce.scorecache.planned import LIFTED_QPS, Planned

_RECOVERY_METRICS = (
    "ttr_s",
    "recovered_runs",
    "t_capacity_s",
    "ok_rate",
    "t_sched_mean_s",
    "t_ready_mean_s",
    "scheduler_memory_peak_bytes",
)

_DEPLOYMENT = Planned("deployment-200", "burst/deployment-200", rounds=3, own=True)
_COLD = replace(_DEPLOYMENT, name="deployment-200-cold", rounds=2, own=False, warm_up=0)
_LIFTED = Planned("scale-1000-lifted", "burst/scale-1000", rounds=1, qps=LIFTED_QPS,
                  burst=LIFTED_QPS)  # fmt: skip
_HELD_BACK = Planned("scale-1000-at-100-qps", "burst/scale-1000", rounds=1,
                        qps=100, burst=100)  # fmt: skip
_RECOVERY = Planned("recovery", "hpa/recovery", rounds=2, metrics=_RECOVERY_METRICS)
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

DEFAULT = (_DEPLOYMENT, _COLD, _RECOVERY, *_OUTCOMES, _LIFTED, _HELD_BACK)

FULL = (
    replace(_DEPLOYMENT, rounds=10),
    replace(_COLD, rounds=10),
    replace(_RECOVERY, rounds=5),
    *_OUTCOMES,
    replace(_RECOVERY, name="recovery-full", variant="full", rounds=3),
    replace(_LIFTED, rounds=5),
    replace(_HELD_BACK, rounds=3),
    replace(_LIFTED, name="scale-5000-lifted", scenario="burst/scale-5000"),
)
