"""A scheduler's first pods, which are not measured.

The first burst after a start is the slow one of some schedulers: caches, connections
and compiled rules come with it.
"""

from __future__ import annotations

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.observe.settled import pods_gone, pods_placed
from stowage_testbed.run.arm import PodOverrides, apply_overrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import await_account, make_namespace
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Workload

LONGEST = 58
"""Characters of a name beside the prefix, of the 63 that a name may have."""


def name_warm_namespace(namespace: str) -> str:
    """Return the namespace of the pods that warm up before those of ``namespace``."""
    # The end of the name is what no other run has.
    return f"warm-{namespace[-LONGEST:]}".replace("--", "-")


def warm_up(context: RunContext, pod_overrides: PodOverrides, pods: int, namespace: str) -> None:
    """Have so many small pods placed in a namespace of their own, and taken away."""
    objects, timeouts = context.objects, context.timeouts
    workload = Workload("warm-up", pods, Resources(cpu=1, memory=1_000_000))
    make_namespace(context, namespace)
    try:
        await_account(context, namespace)
        objects.create(apply_overrides(make_controller(workload, namespace), pod_overrides))
        context.observer.wait_for(
            f"{pods} pods to be placed before anything is measured",
            pods_placed(namespace, pods),
            timeout_s=timeouts.settle_base_s + timeouts.settle_per_pod_s * pods,
        )
    finally:
        # Left alone, its controller would go on making pods amid what is measured.
        objects.delete_all("ReplicaSet", namespace)
        objects.delete_all("Pod", namespace)
        objects.delete("Namespace", namespace)
    context.observer.wait_for(f"the pods of {namespace} to go", pods_gone(namespace), timeout_s=timeouts.cleanup_s)
