"""What a day with a policy comes to."""

from __future__ import annotations

from typing import Any

from benchmarks.policy.benchmark import figures


def a_day(**changes: Any) -> dict[str, Any]:
    windows = [{"after": 7, "lowerBound": 6}, {"after": 9, "lowerBound": 9}]
    day = {"windows": windows, "moves": 8, "emptied": 4, "nodeHours": 20.0}
    return day | {"budgetBreaks": 0, "movedBack": 0} | changes


def values(**policy: Any) -> dict[str, tuple[float | None, bool | None]]:
    days = {"PackingPolicy": a_day(**policy), "HighNodeUtilization": a_day(emptied=0)}
    found = figures({**days, "none": a_day()})
    return {one.name: (one.value, one.met) for one in found}


def test_a_day_is_judged_by_its_worst_window_its_budget_and_its_returns() -> None:
    """A mean would hide the one window that emptied nothing."""
    good = values()
    bad = values(windows=[{"after": 9, "lowerBound": 6}], budgetBreaks=1, movedBack=2)
    judged = [name for name, (_, met) in good.items() if met is not None]

    assert [good[name] for name in judged] == [(1, True), (0, True), (0, True)]
    assert [bad[name] for name in judged] == [(3, False), (1, False), (2, False)]


def test_moves_are_told_by_emptied_node_and_not_where_none_was_emptied() -> None:
    """A rule that moves pods for nothing has no price a node."""
    found = values()

    assert found["moves an emptied node, PackingPolicy"] == (2, None)
    assert found["moves an emptied node, HighNodeUtilization"] == (None, None)
