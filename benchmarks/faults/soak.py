"""The long form of the faults: one after the other for hours, and what grows meanwhile.

Processes are killed in the first part of the time only. In the rest they live on, so
that what grows in them can be seen.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.faults.attempt import Attempt
from benchmarks.faults.cluster import open_fault_cluster
from benchmarks.faults.figures import reliability_figures
from benchmarks.faults.kinds import KINDS
from benchmarks.faults.sampler import ALL_OBJECTS, OBJECTS_OF, Sampler
from benchmarks.faults.session import on_fresh_nodes
from benchmarks.faults.settings import Fault, load_faults
from benchmarks.faults.slopes import CONFIDENCE, S_AN_HOUR, Point, slope_of
from benchmarks.faults.trial import Trial
from benchmarks.live.meter import METRICS_VALUES
from stowage_testbed.base.errors import StowageError
from stowage_testbed.text.figure import Figure

NAME = "soak"
ENDING_SHARE = 0.25
ENDING = {"kill-optimizer", "kill-scheduler", "stop-optimizer"}
"""Faults after which a process of the release is another one."""

WORLD = "moves"
"""The others need other values, and so another release."""

MUST_NOT_GROW = ("of the scheduler", "of the optimizer", ALL_OBJECTS)
"""Others keep what they are asked to, such as the API server's cache of events."""


def run_soak(hours: float, seed: int, warm_up_s: float, results: Path, say: Say) -> str:
    """Try faults for so long, write ``<results>/soak.json``, return the table."""
    rng = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    faults = [
        fault
        for fault in load_faults()
        if fault.settings.world == WORLD and not _needs_values(fault)
    ]
    lasting = [fault for fault in faults if fault.settings.do not in ENDING]
    trials: list[Trial] = []
    name, length_s = f"soak-{secrets.token_hex(3)}", hours * S_AN_HOUR
    with open_fault_cluster(name, (results,), METRICS_VALUES) as cluster:
        cluster.release_for(faults[0])
        with Sampler(lambda: cluster.release, cluster.run.api) as sampler:
            while sampler.length_s < length_s:
                early = sampler.length_s < ENDING_SHARE * length_s
                fault = rng.choice(faults if early else lasting)
                fresh = on_fresh_nodes(fault, len(trials) + 1)
                attempt = Attempt(cluster, fresh, len(trials) + 1, seed, results / NAME)
                trials.append(attempt.run())
                say(f"{sampler.length_s:.0f} s: {trials[-1].in_words()}")
        points = dict(sampler.points)
    figures = [*reliability_figures(trials), *slope_figures(points, warm_up_s)]
    about = {"seed": seed, "hours": hours, "warm_up_s": warm_up_s}
    shown = write_figures(results / f"{NAME}.json", figures, about)
    failed = sum(not trial.passed for trial in trials)
    if failed:
        say(shown)
        raise StowageError(f"{failed} tries failed; {results / NAME} has evidence")
    return shown


def _needs_values(fault: Fault) -> bool:
    return KINDS[fault.settings.do].values is not KINDS["nothing"].values


def slope_figures(
    points: Mapping[str, Sequence[Point]], warm_up_s: float
) -> Iterator[Figure]:
    """Yield how fast everything grows that was sampled, with its interval."""
    slopes = {name: slope_of([points[name]], warm_up_s) for name in sorted(points)}
    growing = ", ".join(
        f"{name.removeprefix(OBJECTS_OF)} {slope.per_hour:+.0f}"
        for name, slope in slopes.items()
        if name.startswith(OBJECTS_OF) and slope is not None and not slope.is_none
    )
    note = f"{CONFIDENCE:.0%} interval, from {warm_up_s:g} s of each life on"
    for name, slope in slopes.items():
        if name.startswith(OBJECTS_OF):
            continue
        unit = "MiB/h" if name.startswith(("memory", "live heap")) else "1/h"
        if slope is None:
            yield Figure(f"slope: {name}", None, unit, note=f"too few samples; {note}")
            continue
        checked = name.endswith(MUST_NOT_GROW)
        yield Figure(
            f"slope: {name}",
            slope.per_hour,
            unit,
            target="0 in the interval" if checked else "",
            met=slope.is_none if checked else None,
            runs=slope.parts,
            spread=(slope.low, slope.high),
            note=f"{note}; {growing}" if name == ALL_OBJECTS and growing else note,
        )
