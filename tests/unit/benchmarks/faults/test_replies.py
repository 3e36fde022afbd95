"""The lying optimiser: each lie differs from the truth in what it is named for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.faults.hostile_optimizer import (
    HONEST,
    LIES,
    RAW,
    WAYS,
    Asked,
    reply,
)
from benchmarks.faults.settings import load_faults
from stowage_optimizer.contract import optimizer_pb2 as pb

SNAPSHOT = pb.Snapshot(
    id="s",
    nodes=[pb.Node(name="n1"), pb.Node(name="n2")],
    pods=[
        pb.Pod(uid="runs", node="n1", movable=True),
        pb.Pod(uid="guarded", node="n2"),
        pb.Pod(uid="waits"),
    ],
)


def truth() -> Iterator[pb.SolveUpdate]:
    plan = pb.Plan(snapshot_id="s")
    plan.placements.add(pod_uid="waits", node="n2")
    plan.moves.add(pod_uid="runs", from_node="n1", to_node="n2")
    yield pb.SolveUpdate(plan=plan)
    yield pb.SolveUpdate(plan=plan, last=True)


def answers(
    way: str, past: list[bytes] | None = None, gone_after: int = 3
) -> list[bytes]:
    """Return all that is said before the caller hangs up."""
    waits = iter([False] * (gone_after - 1))
    asked = Asked(
        pb.SolveRequest(snapshot=SNAPSHOT), truth(), lambda _: next(waits, True)
    )
    return list(reply(way, asked, [] if past is None else past))


def last_of(way: str) -> pb.SolveUpdate:
    return pb.SolveUpdate.FromString(answers(way)[-1])


def test_the_truth_is_passed_on() -> None:
    """Between two lies the scheduler must be able to go on."""
    assert last_of(HONEST) == list(truth())[-1]


@pytest.mark.parametrize("way", LIES)
def test_a_lie_differs_from_the_truth_and_is_still_a_plan(way: str) -> None:
    """A lie that changes nothing would be carried out, and show nothing."""
    answers = last_of(way)

    assert answers.last
    assert answers.plan != list(truth())[-1].plan


def test_a_protected_pod_is_the_victim() -> None:
    """The scheduler must know by itself who is protected."""
    (victim,) = last_of("protected-victim").plan.evictions

    assert (victim.pod_uid, victim.node) == ("guarded", "n2")


def test_the_past_is_reported_again() -> None:
    """A plan that was right once is wrong now."""
    past = list[bytes]()
    first = answers(HONEST, past)[-1]

    assert answers("old-plan", past) == [first]


@pytest.mark.parametrize("way", RAW)
def test_what_is_no_answer_never_ends_in_a_plan(way: str) -> None:
    """Silence, drops, noise and floods end by the scheduler's own limits."""
    said = answers(way)

    if way == "bad-bytes":
        with pytest.raises(Exception, match="parsing"):
            pb.SolveUpdate.FromString(said[0])
        return
    updates = [pb.SolveUpdate.FromString(one) for one in said]
    assert not any(one.last and one.HasField("plan") for one in updates)


def test_every_lie_is_told() -> None:
    """Every lie must be reachable, or it would never be tested."""
    ways = {f.settings.way for f in load_faults() if f.settings.do == "lie"}

    assert ways == set(WAYS)
