"""Lines of the page: what they say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_result
from hpa_records import hpa_record
from run_records import GB, a_node, a_record, pod_on

from stowage_testbed.compare.html.curves import (
    RECOVERY_LOADS,
    distribution,
    loads_of,
    thinned,
    utilisation_over_time,
    waiting_over_time,
)
from stowage_testbed.hpa.settings import FULL, Find
from stowage_testbed.metrics.record import PodRecord

LATE = replace(FULL, find=Find(level_s=5.0))
"""FIND is over before the autoscaler has moved, HOLD sees it reach 7, 14, 20."""

ONE_BOUND = pod_on("a", created=0.0, bound=1.0)


@pytest.mark.parametrize(
    ("pods", "latency", "x", "y"),
    [
        (
            [[ONE_BOUND, pod_on("a", created=1.0, bound=4.0)]],
            "t_sched",
            (1.0, 1.0, 3.0),
            (0.0, 0.5, 1.0),
        ),
        ([[ONE_BOUND, pod_on(created=0.0)]], "t_sched", (1.0, 1.0), (0.0, 0.5)),
        (
            [[pod_on("a", created=0.0, bound=2.0)], [ONE_BOUND]],
            "t_sched",
            (1.0, 1.0, 2.0),
            (0.0, 0.5, 1.0),
        ),
        ([[ONE_BOUND]], "t_ready", (), ()),
    ],
    ids=["climbs", "some never end", "rounds are one sample", "nobody was ready"],
)
def test_a_distribution_is_the_empirical_one(
    pods: list[list[PodRecord]],
    latency: str,
    x: tuple[float, ...],
    y: tuple[float, ...],
) -> None:
    """Pods that never come to the end keep it below one.

    Left out, they would make the scheduler that drops pods look best.
    """
    line = distribution([a_record(one) for one in pods], latency)

    assert (line.x, line.y) == (x, y)


def test_utilisation_climbs_with_each_binding() -> None:
    """Two pods of a tenth of all memory each, the second gone before the end."""
    record = a_record(
        [
            pod_on("a", created=0.0, bound=1.0, memory=GB),
            pod_on("b", created=0.0, bound=2.0, gone=5.0, memory=GB),
        ],
        nodes=[a_node("a", memory=5 * GB), a_node("b", memory=5 * GB)],
        window_s=10.0,
    )

    line = utilisation_over_time(record, "memory")

    assert line.x == (0.0, 1.0, 2.0, 5.0, 10.0)
    assert line.y == pytest.approx((0.0, 0.1, 0.2, 0.1, 0.1))


def test_waiting_pods_are_counted() -> None:
    """The queue is what the client limits fill."""
    record = a_record(
        [pod_on("a", created=0.0, bound=2.0), pod_on("a", created=1.0, bound=3.0)]
    )

    assert waiting_over_time(record).y == (0.0, 1.0, 2.0, 1.0, 0.0, 0.0)


def test_a_thinned_line_keeps_its_ends() -> None:
    """The last point is where the line ends, and the first where it begins."""
    line = thinned(range(1000), range(1000), most=7)

    assert len(line.x) == 7
    assert (line.x[0], line.x[-1]) == (0, 999)


def test_a_recovery_is_drawn_from_the_start_of_hold() -> None:
    """What FIND left behind is where the line begins, and windows follow each other."""
    found = hpa_record(LATE)
    record = replace(
        a_record([ONE_BOUND], window_s=found.hold[-1].end_s - found.hold_start_s),
        recovery=found,
    )

    ready = RECOVERY_LOADS["ready"].line_of(record)
    latency = RECOVERY_LOADS["p99"].line_of(record)

    assert ready.x[-1] == record.window_s
    assert ready.y[-1] == found.pods[-1].ready
    assert [x for x, y in zip(ready.x, ready.y, strict=True) if y == 7] == [10.0]
    assert latency.y[1:-1] == tuple(window.p99_s for window in found.hold)


def test_only_a_recovery_has_lines_of_its_service() -> None:
    """An empty plot to choose would look like a fault."""
    (burst,) = burst_rounds(1, (BurstArm(),), 1)

    assert loads_of(a_result([burst])).keys() == {"cpu", "memory", "waiting"}
    overloaded = a_result([replace(burst, recovery=hpa_record())])
    assert loads_of(overloaded).keys() > RECOVERY_LOADS.keys()
