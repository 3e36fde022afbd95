"""The whole soak: a cluster, turn after turn until the time is up, and the slopes."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.live.cluster import SELDOM_RENEWED
from benchmarks.live.meter import METRICS_VALUES
from benchmarks.soak.cluster import SoakCluster
from benchmarks.soak.events import FAULTS, LASTING
from benchmarks.soak.sampler import Sampler
from benchmarks.soak.slopes import CONFIDENCE, Point, slope_of
from benchmarks.soak.turn import Turn
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.cluster.metrics.settings import MetricsSettings
from stowage_testbed.errors import StowageError
from stowage_testbed.faults.cluster import LONGEST_BACKOFF_S, PATIENCE_S
from stowage_testbed.faults.processes import ELECTION
from stowage_testbed.faults.trial import Trial
from stowage_testbed.journal import Journal
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.invariant_checks import WATCHED
from stowage_testbed.run.release import switch_release
from stowage_testbed.text.figure import (
    Figure,
    at_least,
    at_most,
    figure,
)

NAME = "soak"
PROFILE = "optimizer"
RESOLUTION_S = 60
LEAST_INTERVAL_S, MOST_INTERVAL_S = 2.0, 15.0
SAMPLES = 200
ENDING_SHARE = 0.25
"""The first part of the time, in which processes are killed as well. In the rest they
live on, so that what grows in them can be seen."""

MUST_NOT_GROW = ("of the scheduler", "of the optimizer")
"""Others keep what they are asked to, such as the API server's cache of events."""


def run_soak(hours: float, nodes: int, seed: int, results: Path, say: Say) -> str:
    """Soak a cluster for so long, write ``<results>/soak.json``, return the table.

    Turns and samples are written below ``<results>/soak`` as they come, and the
    evidence of turns that went wrong.

    Raises
    ------
    StowageError
        A tool is missing, or the cluster is beyond recovery.
    """
    folder = results / NAME / secrets.token_hex(3)
    folder.mkdir(parents=True)
    say(f"seed {seed}; turns, samples and evidence: {folder}")
    cluster = KwokBinaryCluster(
        f"soak-{folder.name}",
        extra_args=SELDOM_RENEWED,
        metrics=MetricsSettings(RESOLUTION_S),
        longest_backoff_s=LONGEST_BACKOFF_S,
    )
    with (
        running_cluster(cluster),
        cluster.api_client() as api,
        Observer(api, patience_s=PATIENCE_S) as observer,
    ):
        run = RunContext(cluster, api, observer, tag=folder.name)
        serving = switch_release(run, PROFILE, optimizer_enabled=True, values=_VALUES)
        for source in WATCHED:
            observer.watch(source)
        rng = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        soak_cluster = SoakCluster(run, serving.release, nodes, rng)
        soak_cluster.create()
        length_s = hours * 3600
        interval_s = min(max(length_s / SAMPLES, LEAST_INTERVAL_S), MOST_INTERVAL_S)
        file = folder / "samples.jsonl"
        with Sampler(serving.release, api, length_s, interval_s, file) as sampler:
            turns, error = _turns(
                soak_cluster, seed, length_s, sampler=sampler, folder=folder, say=say
            )
            length_s = sampler.length_s
    figures = [*_turn_figures(turns, error), *_slope_figures(sampler.points, length_s)]
    about = {"seed": seed, "hours": hours, "nodes": nodes}
    shown = write_figures(results / f"{NAME}.json", figures, about)
    return f"{shown}\nseed: {seed}"


_VALUES = {
    "scheduler": {
        **ELECTION["scheduler"],
        "extraArgs": [
            *ELECTION["scheduler"]["extraArgs"],
            *METRICS_VALUES["scheduler"]["extraArgs"],
        ],
    }
}
"""The chart's defaults, but for metrics, and a lease that lasts two seconds."""


def _turns(
    soak_cluster: SoakCluster,
    seed: int,
    length_s: float,
    *,
    sampler: Sampler,
    folder: Path,
    say: Say,
) -> tuple[list[Trial], str]:
    """Return the turns, and what ended them early."""
    trials, journal = list[Trial](), Journal(folder / "turns.jsonl", Trial)
    while sampler.length_s < length_s:
        try:
            faults = FAULTS if sampler.length_s < ENDING_SHARE * length_s else LASTING
            trial = Turn(soak_cluster, len(trials), seed, faults, folder).run()
        except StowageError as beyond:
            say(f"turn {len(trials)}: the cluster cannot be put back: {beyond}")
            return trials, str(beyond)
        say(f"{sampler.length_s:.0f} s: {trial.in_words()}")
        journal.add(trial)
        trials.append(trial)
    return trials, ""


def _turn_figures(turns: Sequence[Trial], error: str) -> Iterator[Figure]:
    violations = [text for turn in turns for text in turn.violations]
    failures = [text for turn in turns for text in turn.failures]
    number = [float(len(turn.violations)) for turn in turns]
    yield figure(
        "violations", "", number, sum, at_most(0), spread=False,
        note="; ".join(violations[:3]),
    )  # fmt: skip
    well = [float(not turn.failures) for turn in turns] + [0.0] * bool(error)
    yield figure(
        "turns after which the cluster recovered", "share", well,
        lambda all_of_them: sum(all_of_them) / len(all_of_them), at_least(1),
        spread=False, note="; ".join([*failures[:3], error]).strip("; "),
    )  # fmt: skip
    again = [one.recovered_s for one in turns if one.recovered_s is not None]
    yield figure("from a fault to the last change of a pod", "s", again, max)
    phases = Counter(phase for turn in turns for phase in turn.phases)
    yield figure(
        "plans", "", [float(len(turn.phases)) for turn in turns], sum, spread=False,
        note=", ".join(f"{count} {phase}" for phase, count in phases.most_common()),
    )  # fmt: skip
    moved = [float(one.evictions > 0) for one in turns if "/drain-" not in one.scenario]
    yield figure(
        "turns whose plans evicted pods, of those without a drain", "share", moved,
        lambda all_of_them: sum(all_of_them) / len(all_of_them), at_least(0.5),
        spread=False, note="where pods find room by themselves nothing is tried",
    )  # fmt: skip
    restarts = [float(one.scheduler_restarts) for one in turns]
    yield figure("restarts of the scheduler", "", restarts, sum, spread=False)


def _slope_figures(points: dict[str, list[Point]], length_s: float) -> Iterator[Figure]:
    for name, own in sorted(points.items()):
        slope = slope_of(own, length_s)
        unit = "MiB/h" if name.startswith(("memory", "live heap")) else "1/h"
        if slope is None:
            yield Figure(f"slope: {name}", None, unit, note="too few samples")
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
            note=f"{CONFIDENCE:.0%} interval; last value {own[-1].value:.0f}",
        )
