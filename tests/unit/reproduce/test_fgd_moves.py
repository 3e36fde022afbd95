"""Moves after a policy of the GPU trace: what the optimiser is asked, and what of its plan is believed."""

import numpy as np
import pytest
from gpu_fleet import a_fleet, a_pod

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_snapshot
from stowage_optimizer.model.issues import Issues
from stowage_testbed.base.errors import StowageError
from stowage_testbed.reproduce.fgd.moves import FleetState, MoveTask, plan_moves
from stowage_testbed.reproduce.fgd.workload import PodList
from stowage_testbed.reproduce.sweep import Tools

FLEET = a_fleet((8, 2), (8, 2))
PODS = PodList.of(
    "shares",
    [
        a_pod(0, 1, 1, 500),
        a_pod(1, 1, 1, 500, ("T4",)),
        a_pod(2, 1, 1, 500),
        a_pod(3, 1, 1, 400),
        a_pod(4, 1, 2, 1000),
        a_pod(5, 1),
    ],
    FLEET,
)


def a_state() -> FleetState:
    """Return two nodes of two GPUs with three shares of 0.5 and one without a GPU; 0.4 and two whole GPUs wait."""
    at = {500: (0, 0, 1), 400: (-1,), 1000: (-1,), 0: (0,)}
    gpu = {500: (1, 2, 1), 400: (0,), 1000: (0,), 0: (0,)}
    seen: dict[int, int] = {}
    node, devices = [], []
    for of in PODS.class_of.tolist():
        milli = int(PODS.pods.gpu_milli[of])
        turn = seen[milli] = seen.get(milli, -1) + 1
        node.append(at[milli][turn])
        devices.append(gpu[milli][turn])
    return FleetState(PODS, FLEET, FLEET.nodes, PODS.class_of, np.array(node), np.array(devices))


def test_the_optimiser_reads_a_state_whole() -> None:
    """What it does not understand would be left alone without a word."""
    state = a_state()
    issues = Issues()

    snapshot = decode_snapshot(state.snapshot(), issues)

    issues.raise_if_any()
    assert not issues.isolated
    assert [one.device_layout for one in snapshot.nodes] == ["2 T4", "2 T4"]
    assert sorted((one.node, one.device, *one.amounts.values()) for one in snapshot.device_holdings) == [
        ("node-0", 0, 50),
        ("node-0", 1, 50),
        ("node-1", 0, 50),
    ]
    worth = {uid: snapshot.classes[of].worth for uid, of in zip(snapshot.pods.uid, snapshot.pods.class_id, strict=True)}
    assert sorted(worth.values()) == [1, 40, 50, 50, 50, 200]
    assert state.allocated(state.node) == pytest.approx(37.5)


def test_a_load_is_the_pods_that_arrived_first() -> None:
    """As in the paper, whose tables are by what has been asked for."""
    assert len(a_state().at(105).arrived) == len(PODS.class_of)
    asked = np.cumsum(PODS.gpu_milli[PODS.class_of]) / FLEET.gpu_milli * 100
    assert len(a_state().at(float(asked[2])).arrived) == 3


def number_of(gpus: int, milli: int, node: int) -> str:
    """Return the pod with this need on this node."""
    state = a_state()
    for number, of in enumerate(state.arrived.tolist()):
        if (int(PODS.pods.gpus[of]), int(PODS.pods.gpu_milli[of]), int(state.node[number])) == (gpus, milli, node):
            return str(number)
    raise LookupError(gpus, milli, node)


def test_a_plan_is_carried_out_in_turn() -> None:
    """The 0.4 fills up a GPU, in the place that first fit finds."""
    state = a_state()
    small = number_of(1, 400, -1)
    plan = pb.Plan(placements=[pb.Placement(pod_uid=small, node="node-1", turn=1, devices=[0])])

    after = state.carried_out(plan)

    assert after[int(small)] == 1
    assert state.allocated(after) == pytest.approx(47.5)


@pytest.mark.parametrize(
    ("placements", "said"),
    [
        ([((1, 400, -1), "node-1", 1, [1])], r"gets GPUs \(0,\) of node-1, not \(1,\)"),
        ([((1, 400, -1), "node-1", 1, [])], r"gets GPUs \(0,\) of node-1, not \(\)"),
        ([((2, 1000, -1), "node-1", 1, [0, 1])], r"gets GPUs \(1,\) of node-1, not \(0, 1\)"),
    ],
)
def test_a_plan_that_expects_other_gpus_than_first_fit_is_refused(
    placements: list[tuple[tuple[int, int, int], str, int, list[int]]], said: str
) -> None:
    """Figures are of what a cluster would do."""
    plan = pb.Plan(
        placements=[
            pb.Placement(pod_uid=number_of(*need), node=node, turn=turn, devices=devices)
            for need, node, turn, devices in placements
        ]
    )

    with pytest.raises(StowageError, match=said):
        a_state().carried_out(plan)


def test_a_plan_that_evicts_is_refused() -> None:
    """Running pods keep a place in all that is compared here."""
    plan = pb.Plan(evictions=[pb.Eviction(pod_uid=number_of(1, 500, 1), node="node-1")])

    with pytest.raises(StowageError, match="evicts"):
        a_state().carried_out(plan)


def test_moves_make_room_for_a_pod_that_was_refused() -> None:
    """Two whole GPUs are free, on two nodes: a share has to go before a pod gets both."""
    state = a_state()
    with Tools(1) as tools:
        found = plan_moves(MoveTask("shares", "FGD", 42, 105, 100.0), state, tools)

    assert (found.placed, found.waiting) == (4, 2)
    assert found.moves >= 1
    assert found.before == pytest.approx(37.5)
    assert found.after == pytest.approx(97.5)
    assert found.bound >= found.after


def test_a_solve_that_ends_without_a_plan_is_a_failed_task() -> None:
    """It would be a row whose bound is 0 %, which every policy exceeds."""
    below_zero = MoveTask("shares", "FGD", 42, 105, -100.0)

    with Tools(1) as tools, pytest.raises(StowageError, match=r"no answer for .* by the optimiser: (?s:.*)max_moves"):
        plan_moves(below_zero, a_state(), tools)
