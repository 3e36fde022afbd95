"""Upstream's cases of Dynamic Resource Allocation, in upstream's own sizes.

Pods with ResourceClaims take their path through every plugin that looks at devices: the filter and the allocator of
Kubernetes, the snapshot of the optimiser, and the score of devices.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from benchmarks.engine import Say, ScopeName, find_scope
from benchmarks.upstream.benchmark import UpstreamScope, run_benchmark
from benchmarks.upstream.profiles import NO_LOSS, PROFILES, STOCK, choose_profiles

NAME = "upstream-devices"

PROMISES = {"optimizer": NO_LOSS, "devices": 0.9}
"""Of the stock scheduler's pace. A score of devices looks at the devices of every node for every pod."""

DEVICE_PROFILES = tuple(
    replace(one, promise=PROMISES.get(one.name)) if one is not STOCK else STOCK
    for one in PROFILES
    if one is STOCK or one.name in PROMISES
)

SIZE = "upstream's size"
SMALLEST = {"SchedulingWithResourceClaimTemplate": ("fast",), "ExtendedResource": ("fast",)}
HEADLINES = {
    "SchedulingWithResourceClaimTemplate": ("2000pods_200nodes", "half_200nodes", "full_200nodes"),
    "SchedulingWithResourceClaim": ("2000pods_200nodes",),
    "ExtendedResource": ("Explicit_25classes_2000pods_200nodes", "Implicit_25classes_2000pods_200nodes"),
    "ConsumableCapacity": ("half_100nodes",),
    "Partitionable": ("half_100nodes",),
}
"""Claims of a template, burst and steady; named claims; extended resources; shares; partitions."""

LARGE = {
    "SchedulingWithResourceClaimTemplate": (
        "5000pods_500nodes",
        "empty_500nodes",
        "half_500nodes",
        "full_500nodes",
        "selector_empty_500nodes",
    ),
    "SchedulingWithResourceClaim": ("5000pods_500nodes",),
    "ExtendedResource": ("Explicit_25classes_5000pods_500nodes", "Implicit_25classes_5000pods_500nodes"),
    "ConsumableCapacity": ("half_500nodes",),
    "Partitionable": ("half_500nodes",),
}

SMOKE = UpstreamScope(ScopeName.SMOKE, 1, "2 nodes", workloads=SMALLEST)
DEFAULT = UpstreamScope(ScopeName.DEFAULT, 3, SIZE, workloads=HEADLINES)
FULL = UpstreamScope(ScopeName.FULL, 3, SIZE, workloads=LARGE, limit_s=1200.0)
SCOPES = (SMOKE, DEFAULT, FULL)


def run_devices(scope: ScopeName, asked: Collection[str] | None, results: Path, say: Say) -> str:
    """Measure, write ``<results>/upstream-devices.json``, return the table."""
    profiles = choose_profiles(asked, DEVICE_PROFILES)
    return run_benchmark(
        find_scope(SCOPES, scope), profiles, results, say, name=NAME, scopes=SCOPES, judged=DEVICE_PROFILES
    )
