"""One round of the live benchmark, on a cluster that is as small as can be."""

from dataclasses import replace

import pytest

from benchmarks.live.cell import Part, moving
from benchmarks.live.rounds import run_cell
from benchmarks.live.window import Window

CELL = replace(moving(Part.RATE, "ten nodes", 10, 4), events_per_s=4, burst=10, beside=True)

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.timeout(600)]


def test_a_round_measures_every_window_on_pods_that_were_born_bound() -> None:
    """No pod is made twice, and what the plan moves comes back: all become ready."""
    rows = {row.window: row for row in run_cell(CELL, print)}

    assert set(rows) == set(Window)
    for row in rows.values():
        assert row.tiny
        assert all(wait_s is not None for _, wait_s in row.tiny[:4])
        assert row.usage.footprints["scheduler"].cpu_s is not None
        assert row.usage.requests["POST"] > 0
    plan = rows[Window.PLAN].plan
    assert plan is not None
    assert (plan.moved, plan.placed, plan.unready) == (4, 4, 0)
    assert plan.ready_s is not None
    assert plan.left == ()
    assert rows[Window.PLAN].usage.writes["create pods/eviction"] == CELL.moves
    assert rows[Window.IDLE].usage.writes == {}
