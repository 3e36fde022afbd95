"""When a scenario counts as at rest."""

import pytest
from seen_states import Seen, fresh, gang, leaving, of_gang, placed, plan, refused, state_of

from stowage_testbed.observe.condition import (
    Condition,
    at_rest,
    object_there,
    objects_gone,
    packed,
    pods_decided,
    pods_gone,
)

SHOWN = plan("p", "NoImprovement")
UNPROVED = plan("p", "Completed", optimal=False)
OVERTAKEN = plan("z", "Completed", optimal=False, created="2026-01-01T00:00:01Z")
NEWEST = plan("a", "NoImprovement", created="2026-01-01T00:00:09Z")
PROPOSED = plan("p", "Proposed")
PROPOSED_ONLY = plan("p", "Proposed", execution_mode="DryRun")


@pytest.mark.parametrize(
    ("condition", "objects", "holds"),
    [
        # The stock scheduler's answer is final until something in the cluster changes.
        (pods_decided("ns", 2), [placed("a"), refused("b")], True),
        # Created and bound are seconds apart on a busy machine.
        (pods_decided("ns", 2), [placed("a"), fresh("b")], False),
        # The controller may not have made all replicas yet.
        (pods_decided("ns", 3), [placed("a"), refused("b")], False),
        # Its room is about to be freed, and the picture to change.
        (pods_decided("ns", 1), [placed("a"), leaving("b")], False),
        # A gang that lacks a pod is not even tried.
        (pods_decided("ns", 1), [gang("g", 2), of_gang("g", fresh("a"))], True),
        # It has all of its pods, and will be tried.
        (pods_decided("ns", 2), [gang("g", 2), of_gang("g", fresh("a")), of_gang("g", fresh("b"))], False),
        # One that leaves will not be among them.
        (pods_decided("ns", 1), [gang("g", 2), of_gang("g", leaving("a")), of_gang("g", fresh("b"))], False),
        # Where nothing is pending, the optimiser has nothing to do.
        (packed("ns", 1), [placed("a")], True),
        # Without a plan nobody has shown that the pending pod does not fit.
        (packed("ns", 2), [placed("a"), refused("b")], False),
        # The optimiser was asked and found nothing better.
        (packed("ns", 2), [placed("a"), refused("b"), SHOWN], True),
        # Another solve may do better: the run waits for it.
        (packed("ns", 1), [refused("b"), UNPROVED], False),
        # A list gives plans by name, and its last one may have been overtaken.
        (packed("ns", 1), [refused("b"), NEWEST, OVERTAKEN], True),
        # A plan that was asked for by hand is made once, the best or not.
        (at_rest("ns", 1), [refused("b"), UNPROVED], True),
        # Pods are about to move.
        (packed("ns", 1), [placed("a"), plan("p", "Executing")], False),
        # It is a proposal for as long as nobody approves it; nothing moves by itself.
        (at_rest("ns", 1), [placed("a"), PROPOSED_ONLY], True),
        # Its proposal is only written down before the first pod moves.
        (at_rest("ns", 1), [placed("a"), PROPOSED], False),
        # The next scenario must not meet pods of the last one, nor those that go.
        (pods_gone("ns"), [leaving("a")], False),
        (pods_gone("ns"), [], True),
    ],
)
def test_a_state_is_at_rest_when_nothing_more_becomes_of_it(
    condition: Condition, objects: list[Seen], holds: bool
) -> None:
    """Each for the reason beside it."""
    assert condition(state_of(*objects)).holds is holds


def test_a_state_in_words_names_what_is_waited_for_within_bounds() -> None:
    """It is written after every look, and 50,000 names stand in no error message."""
    names = [f"p{number:03}" for number in range(100)]
    state = state_of(*map(placed, names))
    untried = pods_decided("ns", 2)(state_of(placed("a"), fresh("b")))
    # Nothing will come of it, and its message is the explanation.
    failed = packed("ns", 1)(state_of(refused("b"), plan("p", "Failed")))

    for result in (objects_gone("Pod", names)(state), object_there("Pod", "ns", "other")(state)):
        assert not result.holds
        assert result.state.endswith(": p000, p001, p002, p003, p004, and 95 more")
    assert "ns/b: not tried by a scheduler yet" in untried.state
    assert "p: Failed" in failed.error
    assert "so it is" in failed.error
