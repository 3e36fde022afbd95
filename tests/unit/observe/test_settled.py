"""When a scenario counts as at rest."""

from __future__ import annotations

from seen_states import fresh, leaving, placed, plan, refused, state_of

from stowage_testbed.observe.settled import (
    at_rest,
    object_there,
    objects_gone,
    packed,
    pods_decided,
    pods_gone,
)


def test_a_pod_not_yet_tried_is_undecided() -> None:
    """Created and bound are seconds apart on a busy machine."""
    verdict = pods_decided("ns", 2)(state_of(placed("a"), fresh("b")))

    assert not verdict.holds
    assert "ns/b: not tried by a scheduler yet" in verdict.state


def test_bound_and_refused_pods_are_decided() -> None:
    """The stock scheduler's verdict is final until something in the cluster changes."""
    assert pods_decided("ns", 2)(state_of(placed("a"), refused("b"))).holds


def test_too_few_pods_are_not_settled() -> None:
    """The controller may not have made all replicas yet."""
    assert not pods_decided("ns", 3)(state_of(placed("a"), refused("b"))).holds


def test_a_pod_that_goes_keeps_the_state_unsettled() -> None:
    """Its room is about to be freed, and the picture to change."""
    assert not pods_decided("ns", 1)(state_of(placed("a"), leaving("b"))).holds


def test_all_placed_without_a_plan_is_packed() -> None:
    """Where nothing is pending, the optimiser has nothing to do."""
    assert packed("ns", 1)(state_of(placed("a"))).holds


def test_pending_pods_need_a_proof() -> None:
    """Without a plan nobody has shown that the pending pod does not fit."""
    assert not packed("ns", 2)(state_of(placed("a"), refused("b"))).holds


def test_no_improvement_is_a_proof() -> None:
    """The optimiser was asked and found nothing better."""
    state = state_of(placed("a"), refused("b"), plan("p", "NoImprovement"))

    assert packed("ns", 2)(state).holds


def test_an_unproved_completed_plan_is_no_proof() -> None:
    """Another solve may do better: the run waits for it."""
    state = state_of(refused("b"), plan("p", "Completed", optimal=False))

    assert not packed("ns", 1)(state).holds


def test_the_newest_plan_is_the_one_made_last() -> None:
    """A list gives plans by name, and its last one may have been overtaken."""
    state = state_of(
        refused("b"),
        plan("a", "NoImprovement", created="2026-01-01T00:00:09Z"),
        plan("z", "Completed", optimal=False, created="2026-01-01T00:00:01Z"),
    )

    assert packed("ns", 1)(state).holds


def test_at_rest_needs_no_proof() -> None:
    """A plan that was asked for by hand is made once, the best or not."""
    state = state_of(refused("b"), plan("p", "Completed", optimal=False))

    assert at_rest("ns", 1)(state).holds


def test_a_live_plan_keeps_the_state_unsettled() -> None:
    """Pods are about to move."""
    assert not packed("ns", 1)(state_of(placed("a"), plan("p", "Executing"))).holds


def test_a_dry_run_that_rests_does_not_unsettle() -> None:
    """It is a proposal for as long as nobody approves it; nothing moves by itself."""
    state = state_of(placed("a"), plan("p", "Proposed", mode="DryRun"))

    assert at_rest("ns", 1)(state).holds


def test_a_plan_about_to_begin_keeps_the_state_unsettled() -> None:
    """Its proposal is only written down before the first pod moves."""
    assert not at_rest("ns", 1)(state_of(placed("a"), plan("p", "Proposed"))).holds


def test_a_failed_plan_ends_the_wait() -> None:
    """Nothing will come of it, and its message is the explanation."""
    verdict = packed("ns", 1)(state_of(refused("b"), plan("p", "Failed")))

    assert "p: Failed" in verdict.error
    assert "so it is" in verdict.error


def test_gone_means_also_not_terminating() -> None:
    """The next scenario must not meet pods of the last one."""
    assert not pods_gone("ns")(state_of(leaving("a"))).holds
    assert pods_gone("ns")(state_of()).holds


def test_objects_gone_names_what_is_left() -> None:
    """A clean-up that hangs must say on what."""
    node = {"metadata": {"uid": "u", "name": "n1"}}

    verdict = objects_gone("Node", ["n1", "n2"])(state_of(("Node", node)))

    assert not verdict.holds
    assert verdict.state == "Node still there: n1"


def test_a_state_in_words_has_bounded_length() -> None:
    """It is written after every look, and 50,000 names stand in no error message."""
    state = state_of(*(placed(f"p{number:03}") for number in range(100)))
    names = [f"p{number:03}" for number in range(100)]

    for verdict in (
        objects_gone("Pod", names)(state),
        object_there("Pod", "ns", "other")(state),
    ):
        assert verdict.state.endswith(": p000, p001, p002, p003, p004, and 95 more")
