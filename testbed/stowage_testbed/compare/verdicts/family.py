"""Which metrics are judged together, and what share of the error each may have."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from stowage_testbed.compare.verdicts.pairs import Floats, Pairs

HEADLINES = (
    "t_sched_mean_s",
    "t_sched_p99_s",
    "throughput_pods_per_s",
    "placed_pods",
    "jain_pods",
    "ttr_s",
    "recovered_runs",
)
"""What is asked for first: speed, tail, rate, result, spread, recovery."""

HEADLINE_SHARE = 0.8
"""Of the allowed error: with three rounds, only a few metrics can be shown at all."""

FEWEST_ROUNDS = 2
"""Below it there is no spread."""

FAMILIES = (
    ("t_sched_", "throughput_", "waiting_"),
    ("t_ready_",),
    ("t_post_",),
    ("pods_per_node_", "jain_", "top5_"),
    ("utilisation_",),
    ("largest_", "stranded_", "fragmented_"),
    ("scheduler_",),
)
"""Beginnings of the names of metrics that are made from the same observations."""


def family_of(name: str) -> str:
    """Return a metric's family; one that is in none is a family of its own."""
    for beginnings in FAMILIES:
        if name.startswith(beginnings):
            return beginnings[0]
    return name


def judged(pairs: Sequence[Pairs]) -> tuple[Pairs, ...]:
    """Return the metrics that have a direction and enough rounds."""
    return tuple(
        one
        for one in pairs
        if one.metric.better != "neither" and len(one.changes) >= FEWEST_ROUNDS
    )


def weights(names: Sequence[str], headlines: Collection[str] = HEADLINES) -> Floats:
    """Return each metric's share of the error; they add up to 1."""
    first = np.array([name in headlines for name in names], dtype=bool)
    if not first.any() or first.all():
        return np.full(len(names), 1 / max(len(names), 1))
    shares = np.where(
        first,
        HEADLINE_SHARE / first.sum(),
        (1 - HEADLINE_SHARE) / (~first).sum(),
    )
    return np.asarray(shares, dtype=np.float64)
