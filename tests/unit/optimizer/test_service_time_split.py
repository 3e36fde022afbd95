"""What is kept back of a call's time so that its answer is there in time."""

from __future__ import annotations

import pytest

from optimizer.contract import optimizer_pb2 as pb
from optimizer.service.time_split import FINISHING_S, finishing_s


@pytest.mark.parametrize("left_s", [0.01, 1.0, 60.0])
def test_small_snapshots_keep_nearly_all_of_their_time(left_s: float) -> None:
    """Checking 256 pods takes milliseconds."""
    small = pb.Snapshot(pods=[pb.Pod()] * 256, nodes=[pb.Node()] * 32)

    assert finishing_s(small, left_s) < min(2 * FINISHING_S, 0.26 * left_s)


def test_large_snapshots_leave_time_for_the_checker() -> None:
    """Else the answer comes seconds after its limit."""
    large = pb.Snapshot(pods=[pb.Pod()] * 40_000, nodes=[pb.Node()] * 5_000)

    assert finishing_s(large, 10.0) > 1.0
    assert finishing_s(large, 1.0) < 0.5
