"""Nodes in use of clusters of unlike nodes: what is proved, and how few are reached."""

import time
from collections.abc import Sequence
from itertools import count, product

import numpy as np
import pytest
from snapshot_builder import SnapshotBuilder
from solving_in_process import Answer, decoded, finished_answer_to

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.solution import EndReason, NodesInUse, Solution
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.stages.consolidate.strategy import Consolidate
from stowage_optimizer.verify import verify_plan

Rooms = Sequence[tuple[int, int, int]]

UNLIKE: Rooms = ((48, 384, 8), (52, 512, 2), (16, 256, 0))
"""Cores, GiB and accelerators of nodes."""

DEMANDS = (
    (6, 49, 1), (6, 48, 1), (2, 6, 1), (12, 96, 2), (24, 190, 4), (6, 57, 0),
    (16, 49, 0), (4, 31, 0), (9, 65, 1), (8, 58, 1), (3, 20, 0), (1, 40, 0),
)  # fmt: skip

EMPTYING_LEAVES = 42
"""Of 60 nodes, where one after the other is emptied into the rest."""

KINDS = tuple(
    (cores, cores * gib, accelerators) for cores, gib, accelerators in product((16, 32, 64), (4, 6, 8), (0, 2, 8))
)
"""27 kinds of nodes."""


def _spread(nodes: int, pods: int, unlike: Rooms = UNLIKE) -> pb.Snapshot:
    """Return unlike nodes, and pods, each on the emptiest that it fits on."""
    random = np.random.default_rng(0)
    rooms = [unlike[node % len(unlike)] for node in range(nodes)]
    builder, left = SnapshotBuilder(), np.array(rooms)
    for node, (cores, gib, accelerators) in enumerate(rooms):
        builder.node(
            f"node-{node}", cpu_milli=cores, memory_bytes=gib,
            extended={"gpu": accelerators},
        )  # fmt: skip
    for number, (cores, gib, accelerators) in enumerate(DEMANDS):
        builder.pod_class(
            f"class-{number}", cpu_milli=cores, memory_bytes=gib,
            extended={"gpu": accelerators},
        ).owner.uid = f"owner-{number}"  # fmt: skip
    for pod in range(pods):
        number = int(random.integers(len(DEMANDS)))
        fits = np.all(left >= DEMANDS[number], axis=1)
        home = int(np.argmax(np.where(fits, left[:, 0] / np.array(rooms)[:, 0], -1)))
        if fits[home]:
            left[home] -= DEMANDS[number]
            builder.pod(f"pod-{pod}", of=f"class-{number}", node=f"node-{home}")
    return builder.message


@pytest.fixture
def fleet() -> pb.Snapshot:
    """Return nodes that are half empty."""
    return _spread(nodes=60, pods=260)


def _asked(**limits: int) -> pb.SolveOptions:
    asked = pb.SolveOptions(**limits)  # type: ignore[arg-type] # any field
    asked.objective, asked.deterministic = pb.OBJECTIVE_CONSOLIDATE, True
    asked.time_limit_s = 0.1
    return asked


def _answer(
    snapshot: pb.Snapshot, asked: pb.SolveOptions | None = None, published: list[Solution] | None = None
) -> Answer:
    """Return the answer, which the checker must let pass."""
    asked = asked or pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)
    answer = finished_answer_to(snapshot, asked, published=published)
    assert verify_plan(snapshot, answer.plan, asked.policy, asked) == []
    return answer


def _priced(**nodes: tuple[int, int]) -> SnapshotBuilder:
    """Return nodes of four cores, each with a price and so many pods of one core."""
    builder = SnapshotBuilder()
    for name, (micros, pods) in nodes.items():
        builder.node(name, cpu_milli=4)
        builder.message.nodes[-1].hourly_price_micros = micros
        for pod in range(pods):
            builder.pod(f"{name}-{pod}", cpu_milli=1, node=name)
    return builder


def test_the_cheapest_nodes_are_not_always_the_fewest() -> None:
    """Two small nodes cost less than the large one that could hold all pods."""
    snapshot = _priced(large=(5, 8), a=(2, 0), b=(2, 0)).message
    snapshot.nodes[0].allocatable.cpu_milli = 8

    answer = _answer(snapshot)

    assert answer.solution.nodes_in_use == NodesInUse(1, 2, 1, 8, 5, 4, 4)
    proved = "2 nodes in use for 0.000004 an hour, 1 for 0.000005 before: proved cheapest"
    assert answer.message.startswith(proved)
    assert answer.end_reason is EndReason.OPTIMAL


def test_a_node_without_a_price_is_not_worth_emptying() -> None:
    """What it costs is not known; pods may come, since it is in use anyway."""
    plan = _answer(_priced(a=(0, 1), b=(3, 1), c=(0, 1)).message).plan

    assert [move.from_node for move in plan.moves] == ["b"]
    assert plan.nodes_in_use.price_after_micros == 0


def test_a_node_without_a_price_is_not_taken_into_use() -> None:
    """Else one forgotten label would make it seem that all can be saved."""
    snapshot = _priced(a=(3, 1), b=(0, 0)).message

    plan = _answer(snapshot).plan

    assert not plan.moves
    assert plan.nodes_in_use.price_lower_bound_micros == 3
    plan.moves.add(pod_uid="a-0", from_node="a", to_node="b")
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)
    told = verify_plan(snapshot, plan, asked.policy, asked)
    assert any(one.subject == "b" and "not known" in one.detail for one in told)


@pytest.mark.parametrize("price", [0, 3])
@pytest.mark.parametrize("pods_there", [0, 1])
def test_a_node_that_may_not_be_removed_is_not_emptied_but_takes_pods(price: int, pods_there: int) -> None:
    """It costs the same with and without pods, and so do two of them."""
    kept = (price, pods_there)
    snapshot = _priced(kept_a=kept, other=(price, 1), kept_b=kept).message
    for number in (0, 2):
        snapshot.nodes[number].irremovable_reason = "annotation"

    plan = _answer(snapshot).plan

    assert [move.from_node for move in plan.moves] == ["other"]
    found = plan.nodes_in_use
    assert (found.before, found.after, found.lower_bound) == (3, 2, 2)


@pytest.mark.parametrize("micros", [-1, 2, 2**43 + 1])
def test_a_node_that_cannot_be_read_costs_what_the_checker_counts(micros: int) -> None:
    """Its pods stay or leave; a price that is out of range is none."""
    snapshot = _priced(a=(5, 1), b=(3, 1), c=(micros, 1)).message
    snapshot.nodes[-1].taints.add(key="k", effect="Never")

    assert _answer(snapshot).plan.nodes_in_use.price_after_micros == 3


def test_nearly_all_of_the_price_is_saved_that_can_be() -> None:
    """And more than by having as few nodes as possible, whatever these cost."""
    fleet = _spread(nodes=81, pods=300, unlike=KINDS)
    fewest = finished_answer_to(fleet, _asked()).plan
    for node in fleet.nodes:
        cores = node.allocatable.cpu_milli
        price = 23_700 * (cores + 30 * node.allocatable.extended["gpu"])
        node.hourly_price_micros = price

    found = _answer(fleet, _asked()).plan.nodes_in_use

    saved = found.price_before_micros - found.price_after_micros
    assert saved >= 0.95 * (found.price_before_micros - found.price_lower_bound_micros)
    goes = {move.pod_uid: move.to_node for move in fewest.moves}
    used = {goes.get(pod.uid, pod.node) for pod in fleet.pods}
    of_fewest = sum(one.hourly_price_micros for one in fleet.nodes if one.name in used)
    assert found.price_after_micros < of_fewest


def test_nearly_all_nodes_are_emptied_that_can_be(fleet: pb.Snapshot) -> None:
    """And more than by emptying one after the other."""
    published: list[Solution] = []

    found = _answer(fleet, _asked(), published).plan.nodes_in_use

    in_use = [one.nodes_in_use.after for one in published if one.nodes_in_use]
    assert in_use[:2] == [found.before, EMPTYING_LEAVES]
    assert found.before - found.after >= 0.95 * (found.before - found.lower_bound)


def test_where_work_is_counted_time_does_not_matter(fleet: pb.Snapshot) -> None:
    """A clock that leaps past every deadline changes nothing, nor a short limit."""
    packing = reduce_snapshot(decoded(fleet))
    options = SolveOptions(time_limit_s=0.001, deterministic=True)
    one, other = (
        Consolidate().solve(packing, TimeBudget.begin(options, clock), lambda _: None)
        for clock in (time.monotonic, count(step=1000).__next__)
    )

    assert (one.assignment, one.nodes_in_use) == (other.assignment, other.nodes_in_use)
    assert one.nodes_in_use is not None
    assert one.nodes_in_use.after < EMPTYING_LEAVES


@pytest.mark.parametrize(("most", "short"), [(5, 0), (20, 1), (60, 2)])
def test_within_a_limit_of_moves_the_nodes_are_emptied_that_are_worth_most(
    fleet: pb.Snapshot, most: int, short: int
) -> None:
    """Nearly all that are proved, by moving no pod but theirs."""
    plan = _answer(fleet, _asked(max_moves=most)).plan

    found = plan.nodes_in_use
    assert len(plan.moves) <= most
    assert found.lower_bound <= found.after <= found.lower_bound + short
    assert found.after < found.before
