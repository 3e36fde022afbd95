"""The checker's tables find the room that counting pod by pod finds."""

from __future__ import annotations

from collections import Counter

from brute_force import plan_to
from hypothesis import given
from hypothesis import strategies as st
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.index import amounts
from stowage_optimizer.verify.movability import Disruptable
from stowage_optimizer.verify.policy import SpareRoom

NODES = ("a", "b", "c")
HUGE = 2**61
AMOUNTS = st.sampled_from([0, 1, 2, 3, HUGE])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    builder = SnapshotBuilder()
    for name in NODES:
        room = draw(st.sampled_from([2, 4, 6, 3 * HUGE // 2]))
        builder.node(name, cpu_milli=room, memory_bytes=4, pods=draw(st.integers(1, 4)))
    for index in range(draw(st.integers(1, 6))):
        builder.pod(
            f"p{index}",
            cpu_milli=draw(AMOUNTS),
            memory_bytes=draw(st.integers(0, 2)),
            priority=draw(st.integers(0, 2)),
            node=draw(st.sampled_from([*NODES, ""])),
            movable=draw(st.booleans()),
        )
    if draw(st.booleans()):
        held = pb.Resources(cpu_milli=draw(AMOUNTS))
        builder.message.reservations.add(name="r", node="b", held=held)
    where = {
        pod.uid: place
        for pod in builder.message.pods
        if (place := draw(st.sampled_from([*NODES, "", "stay"]))) != "stay"
    }
    return Case(builder.message, plan_to(builder.message, where), pb.POLICY_STRICT)


def counted(case: Case, uid: str, node: str, disruptable: set[str]) -> bool:
    """Tell by counting whether the evicted pod has room on ``node``."""
    priority, load, asked = case.priority(uid), Counter(case.requests(uid)), set()
    for other in case.pods:
        where, runs_at = case.after(other), case.pods[other].node
        stays = (
            case.priority(other) > priority
            or (case.priority(other) == priority and runs_at)
            or (runs_at and other not in disruptable)
        )
        if where == node and stays:
            load.update(case.requests(other))
            if runs_at != node:
                asked |= {n for n, amount in case.requests(other).items() if amount}
    if case.pods[uid].node != node:
        asked |= {n for n, amount in case.requests(uid).items() if amount}
    for reservation in case.snapshot.reservations:
        if reservation.node == node:
            load.update(amounts(reservation.held))
    room = amounts(case.nodes[node].allocatable)
    return all(load[name] <= room[name] for name in asked)


@given(cases())
def test_tables_and_counting_name_the_same_nodes(case: Case) -> None:
    """On every node, at home and elsewhere, for huge amounts too."""
    disruptable = {pod.uid for pod in case.snapshot.pods if pod.node and pod.movable}
    spare = SpareRoom(case, Disruptable(case))

    for eviction in case.plan.evictions:
        uid = eviction.pod_uid
        expected = [name for name in NODES if counted(case, uid, name, disruptable)]
        found = list(spare.nodes_for(uid))
        assert sorted(found) == expected
        if case.pods[uid].node in found:
            assert found[0] == case.pods[uid].node
