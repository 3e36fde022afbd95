"""The arm `default`: Kubernetes' own scheduler, with every setting at its default."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from stowage_testbed.compare.arms.account import STOCK_SCHEDULER, Rights
from stowage_testbed.compare.arms.kube_scheduler import KubeSchedulerArm
from stowage_testbed.compare.arms.scheduler_config import BATCHING, plain_config
from stowage_testbed.run.arm import ClientLimits, PodOverrides

NAME = "default"
SCHEDULER_NAME = "default-scheduler"


def default_arm() -> KubeSchedulerArm:
    """Return the arm."""
    return KubeSchedulerArm(
        name=NAME,
        tool="kube-scheduler",
        pod_overrides=PodOverrides(SCHEDULER_NAME),
        config=partial(plain_config, SCHEDULER_NAME),
        rights=partial(Rights, STOCK_SCHEDULER),
        gates=_gates,
        equal_flags=(f"--feature-gates={BATCHING}=false",),
    )


def _gates(limits: ClientLimits | None) -> Mapping[str, bool]:
    """Return the gates in effect: on by default, and off among equals.

    The other arms cannot have it: their plugins or their framework lack it.
    """
    return {BATCHING: limits is None}
