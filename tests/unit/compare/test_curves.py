"""Lines of plots: what they say, and that they are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_result
from run_records import GB, a_node, a_record, pod_on

from stowage_testbed.compare.curves import (
    distribution,
    thinned,
    utilisation_over_time,
    waiting_over_time,
)
from stowage_testbed.compare.plots import draw_pictures
from stowage_testbed.metrics.record import PodRecord

PNG = b"\x89PNG\r\n\x1a\n"


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


def test_every_picture_is_drawn_in_both_formats(tmp_path: Path) -> None:
    """Papers take SVG, slides take PNG; names of arms are taken as they are."""
    arms = (BurstArm("default"), BurstArm("my $cheduler_{x"))
    result = a_result(burst_rounds(1, arms, 2))

    files = draw_pictures(result, tmp_path / "plots")

    assert {file.name for file in files} == {
        f"{name}-own.{kind}"
        for name in (
            "latency-t_sched", "latency-t_ready", "latency-t_post",
            "load-cpu", "load-memory", "load-waiting",
        )
        for kind in ("png", "svg")
    }  # fmt: skip
    for file in files:
        content = file.read_bytes()
        if file.suffix == ".png":
            assert content.startswith(PNG)
        else:
            assert b"my $cheduler_{x" in content


def test_equal_results_give_equal_files(tmp_path: Path) -> None:
    """A picture in a repository changes when the result does, and not before."""
    result = a_result(burst_rounds(1, (BurstArm(),), 1))

    first, second = (draw_pictures(result, tmp_path / name) for name in "ab")

    assert [f.read_bytes() for f in first] == [f.read_bytes() for f in second]
