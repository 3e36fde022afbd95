"""Upstream's cases of pod groups, and of pod groups that preempt, in upstream's own sizes.

The profile ``optimizer`` has no preemption. Where upstream has victims, they are bare pods, which no plan evicts: it is
not asked these cases.
"""

from collections.abc import Collection
from pathlib import Path

from benchmarks.engine import Say, ScopeName, find_scope
from benchmarks.upstream.benchmark import UpstreamScope, run_benchmark
from benchmarks.upstream.profiles import PROFILES, choose_profiles

NAME = "upstream-gangs"
GATES = ("GenericWorkload",)

GANG_PROFILES = tuple(one for one in PROFILES if one.name in {"default", "registered", "optimizer"})

SIZE = "upstream's size"
SMALLEST = {"BasicScheduling": ("10Nodes_3Groups",), "GangScheduling": ("10Nodes_3Gangs",)}
HEADLINES = {
    "BasicScheduling": ("5000Nodes_1000Groups_3000Pods",),
    "GangScheduling": ("5000Nodes_1000Gangs_3000Pods",),
    "GangPreemptionBasic": ("100Nodes_10PreemptorGangs_10Pods_Evicting_1000InitPods",),
    "GangPreemptionPodGroups": ("100Nodes_10PreemptorGangs_10Pods_Evicting_50LowPriorityGangs",),
    "GangPreemptionAffinity": ("100Nodes_10PreemptorGangs_10Pods_Evicting_1000InitPods",),
}
"""Groups without and with a minimum, and gangs that preempt pods, gangs, and pods on nodes that affinity leaves."""

LARGE = {
    "BasicScheduling": ("5000Nodes_3000Groups_9000Pods", "5000Nodes_9Groups_9000Pods_1000PerGroup"),
    "GangScheduling": ("5000Nodes_3000Gangs_9000Pods", "5000Nodes_9Gangs_9000Pods_1000PerGroup"),
    "GangPreemptionBasic": ("100Nodes_1PreemptorGang_100Pods_Evicting_1000InitPods",),
    "GangPreemptionPodGroups": ("100Nodes_1PreemptorGang_100Pods_Evicting_5LowPriorityGangs",),
    "GangPreemptionAffinity": ("100Nodes_1PreemptorGang_100Pods_Evicting_1000InitPods",),
}

SMOKE = UpstreamScope(ScopeName.SMOKE, 1, "10 nodes", workloads=SMALLEST, switched_on=GATES)
DEFAULT = UpstreamScope(ScopeName.DEFAULT, 3, SIZE, workloads=HEADLINES, limit_s=1200.0, switched_on=GATES)
FULL = UpstreamScope(ScopeName.FULL, 3, SIZE, workloads=LARGE, limit_s=2400.0, switched_on=GATES)
SCOPES = (SMOKE, DEFAULT, FULL)


def run_gangs(scope: ScopeName, asked: Collection[str] | None, results: Path, say: Say) -> str:
    """Measure, write ``<results>/upstream-gangs.json``, return the table."""
    profiles = choose_profiles(asked, GANG_PROFILES)
    return run_benchmark(
        find_scope(SCOPES, scope), profiles, results, say, name=NAME, scopes=SCOPES, judged=GANG_PROFILES
    )
