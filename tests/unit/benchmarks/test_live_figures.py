"""From the rows of a cell to figures with targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.live.cell import SCOPES, Cell, Part, moving
from benchmarks.live.figures import cell_figures
from benchmarks.live.moments import PlanRow, Row, Window
from stowage_testbed.text.figure import Figure

PENDING = moving(Part.PENDING, "p", 100, 50)
RATE = replace(moving(Part.RATE, "r", 100, 50), burst=2, rounds=2, beside=True)


def a_plan(**values: Any) -> PlanRow:
    plain: dict[str, Any] = {
        "stored_s": 2.0, "stored_after_last_s": 1.5, "ready_s": 30.0, "unready": 0,
        "moved": 50, "placed": 50, "plans": 1, "given_up": (), "left": (),
    }  # fmt: skip
    return PlanRow(**{**plain, **values})


def a_row(window: Window, number: int = 0, **values: Any) -> Row:
    plain: dict[str, Any] = {
        "length_s": 10.0, "tiny": ((0.0, 1.0), (1.0, 1.0)), "writes": {},
        "requests": {}, "longest_hold_s": 1.0, "held_s": 0.2,
        "cpu_s": {"scheduler": 2.0}, "peak_bytes": {},
        "plan": a_plan() if window is Window.PLAN else None,
    }  # fmt: skip
    return Row(number=number, window=window, **{**plain, **values})


def figures_of(cell: Cell, *rows: Row) -> dict[str, Figure]:
    return {one.name.partition(": ")[2]: one for one in cell_figures(cell, rows)}


def test_a_plan_that_was_never_carried_out_misses_its_target() -> None:
    """A figure that falls short is written as such, with the reason."""
    failed = a_plan(ready_s=None, unready=7, given_up=("Aborted: no room",))

    found = figures_of(PENDING, a_row(Window.PLAN, plan=failed))

    ready = found["from the last arrival to all pods Ready"]
    assert (ready.value, ready.met) == (None, False)
    assert "7 pods not ready; 1 Aborted: no room" in ready.note


def test_writes_are_counted_an_arrival_of_the_plan() -> None:
    """Moved pods arrive at their new nodes as pending ones do."""
    row = a_row(Window.PLAN, writes={"create pods/binding": 100, "patch pods": 50})

    found = figures_of(PENDING, row)

    assert found["API writes an arrival"].value == 1.5


def test_rates_are_compared_round_by_round() -> None:
    """Both arms of a round have the same machine; those of two rounds may not."""
    fast, slow = ((0.0, 1.0), (0.0, 1.0)), ((0.0, 2.0), (0.0, 2.0))
    rows = [
        a_row(Window.DEFAULT, 0, tiny=fast), a_row(Window.PLAN, 0, tiny=slow),
        a_row(Window.DEFAULT, 1, tiny=slow), a_row(Window.PLAN, 1, tiny=slow),
    ]  # fmt: skip

    ratio = figures_of(RATE, *rows)["plan: scheduling rate over that of default"]

    assert (ratio.value, ratio.runs, ratio.spread) == (0.75, 2, (0.5, 1.0))
    assert ratio.met is False


def test_a_cell_that_was_not_measured_says_so() -> None:
    """A figure is never left out."""
    (only,) = cell_figures(PENDING, ())

    assert (only.value, only.note) == (None, "not measured")


def test_every_cell_has_room_for_its_large_pods() -> None:
    """What no plan can place would measure how long one is looked for."""
    for cell in (one for scope in SCOPES for one in scope.cells):
        pool, rest = divmod(cell.nodes, cell.rounds)
        asked = cell.large * cell.large_cpu_milli
        asked += pool * cell.pods_a_node * cell.steady_cpu_milli
        free = cell.node_cpu_milli - cell.pods_a_node * cell.steady_cpu_milli

        assert rest == 0, cell.name
        assert asked <= pool * cell.node_cpu_milli, cell.name
        assert free < cell.large_cpu_milli, cell.name
        assert cell.large_cpu_milli <= free + cell.moves_each * cell.steady_cpu_milli


def test_no_two_cells_of_a_scope_have_one_name() -> None:
    """A name is how a cell is found in the journal."""
    for scope in SCOPES:
        names = [cell.name for cell in scope.cells]
        assert len(set(names)) == len(names)
