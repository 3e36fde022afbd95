"""The whole soak: clusters, turn after turn until the time is up, and the figures."""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.faults.cluster import LONGEST_BACKOFF_S, PATIENCE_S
from benchmarks.faults.processes import ELECTION
from benchmarks.faults.trial import Trial
from benchmarks.live.cluster import SELDOM_RENEWED
from benchmarks.live.meter import METRICS_VALUES
from benchmarks.soak.cluster import SoakCluster
from benchmarks.soak.events import FAULTS, LASTING
from benchmarks.soak.figures import figures_of
from benchmarks.soak.pieces import (
    TURNS,
    About,
    build_in_use,
    end_piece,
    lengths_s,
    pieces_of,
)
from benchmarks.soak.sampler import Sampler
from benchmarks.soak.slopes import S_AN_HOUR
from benchmarks.soak.turn import Turn
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import Journal
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.invariant_checks import WATCHED
from stowage_testbed.run.release import switch_release

NAME = "soak"
PROFILE = "optimizer"
RESOLUTION_S = 60
LEAST_INTERVAL_S, MOST_INTERVAL_S = 2.0, 15.0
SAMPLES = 200
ENDING_SHARE = 0.25
"""The first part of the time, in which processes are killed as well. In the rest they
live on, so that what grows in them can be seen."""


@dataclass(frozen=True, slots=True)
class Soak:
    """What is asked for.

    Parameters
    ----------
    length_s
        In all; more than 45 minutes are several pieces.
    warm_up_s
        What is left out of each life when slopes are taken.
    results
        Where results are written.
    """

    length_s: float
    nodes: int
    seed: int
    warm_up_s: float
    results: Path


def run_soak(soak: Soak, say: Say) -> str:
    """Soak clusters for so long, write ``<results>/soak.json``, return the table.

    Turns and samples are written below ``<results>/soak`` as they come, and the
    evidence of turns that went wrong. Earlier pieces that lie there are counted, too.

    Raises
    ------
    StowageError
        A tool is missing, or a cluster does not start.
    """
    soaks, build = soak.results / NAME, build_in_use()
    for number, length_s in enumerate(lengths_s(soak.length_s)):
        folder = soaks / secrets.token_hex(3)
        folder.mkdir(parents=True)
        seed = soak.seed + number
        say(f"seed {seed}; turns, samples and evidence: {folder}")
        sampled_s, error = _run_piece(folder, length_s, soak.nodes, seed, say)
        end_piece(folder, About(soak.nodes, seed, sampled_s, build, error))
    pieces, others = pieces_of(soaks, soak.nodes, build)
    for other in others:
        say(f"not counted: {other}")
    about = {
        "seeds": [piece.about.seed for piece in pieces],
        "hours": sum(piece.about.length_s for piece in pieces) / S_AN_HOUR,
        "nodes": soak.nodes,
        "warm_up_s": soak.warm_up_s,
    }
    figures = figures_of(pieces, soak.warm_up_s)
    shown = write_figures(soak.results / f"{NAME}.json", figures, about)
    return f"{shown}\nseed: {soak.seed}; {len(pieces)} pieces"


def _run_piece(
    folder: Path, length_s: float, nodes: int, seed: int, say: Say
) -> tuple[float, str]:
    """Soak one cluster; return for how many seconds, and what ended it early."""
    cluster = KwokBinaryCluster(
        f"soak-{folder.name}",
        extra_args=SELDOM_RENEWED,
        resolution_s=RESOLUTION_S,
        longest_backoff_s=LONGEST_BACKOFF_S,
    )
    with (
        running_cluster(cluster),
        cluster.api_client() as api,
        Observer(api) as observer,
        observer.patient(PATIENCE_S),
    ):
        run = RunContext(cluster, api, observer, tag=folder.name)
        serving = switch_release(run, PROFILE, optimizer_enabled=True, values=_VALUES)
        for source in WATCHED:
            observer.watch(source)
        rng = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        soak_cluster = SoakCluster(run, serving.release, nodes, rng)
        soak_cluster.create()
        interval_s = min(max(length_s / SAMPLES, LEAST_INTERVAL_S), MOST_INTERVAL_S)
        with Sampler(serving.release, api, length_s, interval_s, folder) as sampler:
            error = _turns(
                soak_cluster, seed, length_s, sampler=sampler, folder=folder, say=say
            )
            return sampler.length_s, error


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
) -> str:
    """Take turns until the time is up, and return what ended them early."""
    journal = Journal(folder / TURNS, Trial)
    number = 0
    while sampler.length_s < length_s:
        try:
            faults = FAULTS if sampler.length_s < ENDING_SHARE * length_s else LASTING
            trial = Turn(soak_cluster, number, seed, faults, folder).run()
        except StowageError as beyond:
            say(f"turn {number}: the cluster cannot be put back: {beyond}")
            return str(beyond)
        say(f"{sampler.length_s:.0f} s: {trial.in_words()}")
        journal.add(trial)
        number += 1
    return ""
