"""Plans as the page shows them, and as many of their versions as there is room for."""

from __future__ import annotations

from typing import Any

import msgspec

from stowage_testbed.live.plans import MOST_STEPS, PlanLog, see_plan


def a_plan(
    name: str = "one", phase: str = "Proposed", moves: int = 1
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"executionMode": "DryRun", "trigger": "Manual"},
        "status": {
            "phase": phase,
            "optimal": True,
            "tiers": [{"priority": 5, "placedBefore": 1, "placed": 2, "upperBound": 3}],
            "moves": [
                {"pod": f"d/p{n}", "podUID": "u", "fromNode": "a", "toNode": "b"}
                for n in range(moves)
            ],
            "protected": [{"reason": "singleton", "pods": 2, "example": "d/x"}],
        },
    }


def versions(log: PlanLog) -> list[tuple[int, str, Any]]:
    return [(at, name, msgspec.json.decode(raw)) for at, name, raw in log.past()]


def test_a_plan_is_told_with_its_bounds_and_what_was_protected() -> None:
    """Whoever approves it wants to know how good it is, and whom it spares."""
    seen = see_plan(a_plan())

    assert seen["tiers"] == [[5, 1, 2, 3, ""]]
    assert seen["moves"] == [["d/p0", "a", "b", ""]]
    assert seen["protected"] == [["singleton", 2, "d/x", ""]]
    assert seen["counts"] == [0, 1, 0]


def test_a_plan_that_was_not_taken_up_has_nothing_to_tell_yet() -> None:
    """It is listed all the same."""
    seen = see_plan({"metadata": {"name": "new"}})

    assert (seen["phase"], seen["mode"], seen["moves"]) == ("", "DryRun", [])


def test_a_large_plan_is_counted_whole_and_listed_in_part() -> None:
    """Nobody reads more, and every change of it is sent again."""
    seen = see_plan(a_plan(moves=MOST_STEPS + 10))

    assert seen["counts"][1] == MOST_STEPS + 10
    assert len(seen["moves"]) == MOST_STEPS


def test_each_version_of_a_plan_is_kept_with_its_moment() -> None:
    """The slider shows it as it was."""
    log = PlanLog()
    log.take("one", see_plan(a_plan()))
    log.take_new(10)
    log.take("one", see_plan(a_plan(phase="Executing")))
    log.take_new(20)
    log.take("one", None)
    log.take_new(30)

    assert [(at, plan and plan["phase"]) for at, _, plan in versions(log)] == [
        (10, "Proposed"), (20, "Executing"), (30, None),
    ]  # fmt: skip
    assert log.now() == []


def test_a_plan_that_did_not_change_is_not_told_again() -> None:
    """Its object changes in ways that the page does not show."""
    log = PlanLog()
    log.take("one", see_plan(a_plan()))
    log.take_new(10)
    log.take("one", see_plan(a_plan()))

    assert log.take_new(20) == []


def test_old_versions_go_when_there_is_no_more_room() -> None:
    """The last one of each plan stays."""
    log = PlanLog(most_bytes=2000)
    log.take("other", see_plan(a_plan("other")))
    log.take_new(0)
    for step in range(1, 50):
        log.take("one", see_plan(a_plan(phase=f"step {step}")))
        log.take_new(step)

    kept = versions(log)
    assert len(kept) < 8
    assert kept[-1][2]["phase"] == "step 49"
    assert "other" in [name for _, name, _ in kept]


def test_what_was_before_the_beginning_is_forgotten() -> None:
    """But for what still held then."""
    log = PlanLog()
    for at, phase in ((10, "Pending"), (20, "Solving"), (30, "Proposed")):
        log.take("one", see_plan(a_plan(phase=phase)))
        log.take_new(at)

    log.forget_before(25)

    assert [at for at, *_ in versions(log)] == [20, 30]


def test_plans_that_a_new_list_lacks_are_gone() -> None:
    """A watch that was away too long has not told of it."""
    log = PlanLog()
    log.take("one", see_plan(a_plan()))
    log.take("two", see_plan(a_plan("two")))
    log.take_new(10)

    log.keep_only(["two"])

    assert [(name, bytes(raw)) for name, raw in log.take_new(20)] == [("one", b"null")]
