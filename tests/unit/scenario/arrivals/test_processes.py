"""Drawn arrivals and lifetimes: their statistics, and that a seed gives them again.

The samples are large and their seeds fixed, and each tolerance is several times the
standard error of what it bounds: the generator fails a test, never chance.
"""

import math
from itertools import pairwise

import numpy as np
import pytest

from stowage_testbed.scenario.steps.arriving import ArrivalProcess, Distribution, Lifetime, Process

MANY = 20_000
RATE_PER_S = 25.0

POISSON_OF_SEED_7 = [0.03657223299073608, 0.13681082743103085, 0.1583814340686228]
GAMMA_OF_SEED_7 = [0.007324499239548602, 0.2838248193791336, 8.865578814652233]


def gaps_s(process: ArrivalProcess) -> list[float]:
    return [later - earlier for earlier, later in pairwise([0, *process.times_s(MANY)])]


@pytest.mark.parametrize(
    ("process", "distribution", "asked", "cv"),
    [
        ("constant", "constant", None, 0.0),
        ("uniform", "uniform", None, 1 / math.sqrt(3)),
        ("poisson", "exponential", None, 1.0),
        ("gamma", "gamma", 0.5, 0.5),
        ("gamma", "gamma", 3.0, 3.0),
    ],
)
def test_intervals_and_lifetimes_have_the_mean_and_the_variation_asked_for(
    process: Process, distribution: Distribution, asked: float | None, cv: float
) -> None:
    """The variation tells a steady stream from one that comes in clusters.

    Load is arrivals times lifetime: a wrong mean is a wrong load.
    """
    for drawn, mean in (
        (gaps_s(ArrivalProcess(process, RATE_PER_S, asked, seed=0 if process == "constant" else 1)), 1 / RATE_PER_S),
        (Lifetime(distribution, 4.0, asked, seed=0 if process == "constant" else 2).draws_s(MANY), 4.0),
    ):
        # The standard error of the mean is the cv over the root of the sample.
        error = max(cv, 1e-9) / math.sqrt(MANY)
        assert np.mean(drawn) / mean == pytest.approx(1.0, abs=5 * error)
        assert np.std(drawn) / np.mean(drawn) == pytest.approx(cv, rel=0.06, abs=1e-6)
        assert min(drawn) >= 0


@pytest.mark.parametrize("process", ["uniform", "poisson", "gamma"])
def test_a_seed_gives_the_same_times_each_time(process: Process) -> None:
    """Two schedulers must see the same arrivals, and a smoke run the beginning."""
    cv = 2.0 if process == "gamma" else None
    one = ArrivalProcess(process, 10.0, cv, 2**63).times_s(50)

    assert one == ArrivalProcess(process, 10.0, cv, 2**63).times_s(1000)[:50]
    assert one != ArrivalProcess(process, 10.0, cv, 2**63 + 1).times_s(50)


def test_the_streams_are_the_same_with_every_version_of_the_library() -> None:
    """Results that are kept are compared with later ones; at once needs no rate."""
    poisson = ArrivalProcess("poisson", 10.0, seed=7).times_s(3)
    gamma = Lifetime("gamma", 2.0, 1.5, seed=7).draws_s(3)

    assert poisson == pytest.approx(POISSON_OF_SEED_7, abs=1e-12)
    assert gamma == pytest.approx(GAMMA_OF_SEED_7, abs=1e-12)
    assert ArrivalProcess("at-once").times_s(3) == [0.0, 0.0, 0.0]


def test_arrivals_and_lifetimes_of_one_seed_have_nothing_to_do_with_each_other() -> None:
    """Else pods that come late would be pods that run long."""
    gaps = gaps_s(ArrivalProcess("poisson", 1.0, seed=9))
    lifetimes = Lifetime("exponential", 1.0, seed=9).draws_s(MANY)

    assert abs(np.corrcoef(gaps, lifetimes)[0, 1]) < 5 / math.sqrt(MANY)
