"""The arm `default`: the stock kube-scheduler with every setting at its default."""

from __future__ import annotations

from functools import partial

from stowage_testbed.compare.arms.account import STOCK_SCHEDULER, Rights
from stowage_testbed.compare.arms.kube_scheduler import BATCHING, Config, KubeSchedulerArm
from stowage_testbed.run.arm import PodOverrides

NAME = "default"
SCHEDULER_NAME = "default-scheduler"
API_VERSION = "kubescheduler.config.k8s.io/v1"


def plain_config(scheduler_name: str) -> Config:
    """Return the configuration that leaves every setting at its default."""
    return {
        "apiVersion": API_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": scheduler_name}],
    }


def default_arm() -> KubeSchedulerArm:
    """Return the arm."""
    return KubeSchedulerArm(
        name=NAME,
        tool="kube-scheduler",
        pod_overrides=PodOverrides(SCHEDULER_NAME),
        config=partial(plain_config, SCHEDULER_NAME),
        rights=partial(Rights, STOCK_SCHEDULER),
        # On by default, and off among equals: the other arms cannot have it, since
        # their plugins or their framework lack it.
        gates=lambda limits: {BATCHING: limits is None},
        equal_flags=(f"--feature-gates={BATCHING}=false",),
    )
