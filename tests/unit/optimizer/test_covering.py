"""Nodes in use of clusters of unlike nodes: what is proved, and how few are reached."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count, product

import numpy as np
import pytest
from snapshot_builder import SnapshotBuilder
from solving_in_process import decoded, finished_answer_to

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.packing import Assignment, Item, Packing, packing_of
from stowage_optimizer.model.solution import EndReason, NodesInUse, Solution
from stowage_optimizer.stages.consolidate import fleet as fleet_of_kinds
from stowage_optimizer.stages.consolidate.covering import Covering
from stowage_optimizer.stages.consolidate.fleet import make_fleet
from stowage_optimizer.stages.consolidate.nodes import Costs, least_cost
from stowage_optimizer.stages.consolidate.strategy import Consolidate
from stowage_optimizer.verify import verify_plan

Rooms = Sequence[tuple[int, int, int]]

UNLIKE: Rooms = ((48, 384, 8), (52, 512, 2), (16, 256, 0))
"""Cores, GiB and accelerators of nodes."""

DEMANDS = (
    (6, 49, 1), (6, 48, 1), (2, 6, 1), (12, 96, 2), (24, 190, 4), (6, 57, 0),
    (16, 49, 0), (4, 31, 0), (9, 65, 1), (8, 58, 1), (3, 20, 0), (1, 40, 0),
)  # fmt: skip

EACH = (1,)
"""The cost of a node without prices."""

EMPTYING_LEAVES = 42
"""Of 60 nodes, where one after the other is emptied into the rest."""


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


def _small(seed: int) -> Packing:
    """Return four unlike nodes, of which the first may be overcommitted."""
    random = np.random.default_rng(seed)
    rooms = random.integers(4, 13, (4, 2))
    items = []
    for pod in range(6):
        home = int(random.integers(4))
        others = random.choice(4, 3, replace=False).tolist()
        demand = tuple(random.integers(1, 6, 2).tolist())
        items.append(
            Item(f"pod-{pod}", 0, demand, tuple(sorted({home, *others})), home)
        )
    for item in items[1:]:
        if item.home:
            rooms[item.home] += item.demand
    names = ("a", "b", "c", "d")
    return packing_of(names, tuple(map(tuple, rooms.tolist())), items, (0,))


def _least(packing: Packing, costs: Costs) -> int:
    """Return what the nodes in use cost in the best of all assignments."""
    now = packing.current
    return min(
        costs.total(set(nodes))
        for nodes in product(*(kind.eligible for kind in packing.kind_of))
        if _fits(packing, nodes, now)
    )


def _fits(packing: Packing, nodes: Assignment, now: Assignment) -> bool:
    """Return whether each node has room, or nothing that it has not now."""
    for node in range(len(packing.room)):
        here = [i for i, one in enumerate(nodes) if one == node]
        taken = [packing.kind_of[i].demand for i in here]
        load = [sum(amounts) for amounts in zip(*taken, strict=True)]
        fits = all(a <= b for a, b in zip(load, packing.room[node], strict=False))
        if not fits and any(now[i] != node for i in here):
            return False
    return True


def _covering(packing: Packing, costs: Costs | None = None) -> Covering:
    problem = packing.problem
    nobody = np.zeros(len(packing.current), np.bool_)
    nodes = len(packing.room)
    cost = np.array(costs.of if costs else EACH * nodes, np.int64)
    fleet = make_fleet(problem, nobody, np.zeros(nodes, np.bool_), cost, outer=True)
    assert fleet is not None
    options = SolveOptions(time_limit_s=1.0, deterministic=True)
    return Covering(fleet, Budget.begin(options, time.monotonic))


@pytest.mark.parametrize("seed", range(30))
def test_no_assignment_has_fewer_nodes_in_use_than_is_proved(seed: int) -> None:
    """Neither by the first prices nor by later ones, also where a node is too full."""
    packing = _small(seed)
    fewest = _least(packing, Costs(EACH * len(packing.room)))
    covering = _covering(packing)

    covering.prove()
    first = covering.limit
    list(covering.assignments(len(packing.room) + 1))

    assert 0 < first <= covering.limit <= fewest


@pytest.mark.parametrize("largest", [3, 10**3, 2**43])
@pytest.mark.parametrize("seed", range(30))
def test_no_assignment_is_cheaper_than_is_proved(seed: int, largest: int) -> None:
    """Neither by counting nor by prices of pods, however unlike those of nodes are."""
    packing = _small(seed)
    random = np.random.default_rng(seed)
    costs = Costs(tuple(random.integers(0, largest, len(packing.room)).tolist()))
    least = _least(packing, costs)
    covering = _covering(packing, costs)

    covering.prove()
    first = covering.limit
    found = list(covering.assignments(costs.total(range(len(packing.room))) + 1))

    assert 0 <= first <= covering.limit <= least
    assert least_cost(packing, frozenset(), costs) <= least
    reached = [costs.total(set(nodes.tolist())) for nodes in found]
    assert reached == sorted(reached, reverse=True)


def test_the_cheapest_nodes_are_not_always_the_fewest() -> None:
    """Two small nodes cost less than the large one that could hold all pods."""
    builder = SnapshotBuilder()
    for name, cores, micros in (("large", 8, 5), ("a", 4, 2), ("b", 4, 2)):
        builder.node(name, cpu_milli=cores)
        builder.message.nodes[-1].hourly_price_micros = micros
    for pod in range(4):
        builder.pod(f"pod-{pod}", cpu_milli=2, node="large")
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)

    answer = finished_answer_to(builder.message, asked)

    assert verify_plan(builder.message, answer.plan, asked.policy, asked) == []
    assert answer.solution.nodes_in_use == NodesInUse(1, 2, 1, 4, 5, 4, 4)
    proved = (
        "2 nodes in use for 0.000004 an hour, 1 for 0.000005 before: proved cheapest"
    )
    assert answer.message.startswith(proved)
    assert answer.solution.end_reason is EndReason.OPTIMAL


def test_a_node_without_a_price_is_not_worth_emptying() -> None:
    """What it costs is not known; pods may come, since it is in use anyway."""
    builder = SnapshotBuilder()
    for name, micros in (("a", 0), ("b", 3), ("c", 0)):
        builder.node(name, cpu_milli=4)
        builder.message.nodes[-1].hourly_price_micros = micros
        builder.pod(f"pod-{name}", cpu_milli=1, node=name)
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)

    plan = finished_answer_to(builder.message, asked).plan

    assert [move.from_node for move in plan.moves] == ["b"]
    assert plan.nodes_in_use.price_after_micros == 0


@pytest.mark.parametrize("priced", [False, True])
@pytest.mark.parametrize("pods_there", [0, 1])
def test_a_node_that_may_not_be_removed_is_not_emptied_but_takes_pods(
    priced: bool, pods_there: int
) -> None:
    """It costs the same with and without pods, and so do two of them."""
    builder = SnapshotBuilder()
    for name in ("kept-a", "other", "kept-b"):
        builder.node(name, cpu_milli=4)
        node = builder.message.nodes[-1]
        node.hourly_price_micros = 3 * priced
        node.irremovable_reason = "annotation" if "kept" in name else ""
        for pod in range(1 if name == "other" else pods_there):
            builder.pod(f"{name}-{pod}", cpu_milli=1, node=name)
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)

    plan = finished_answer_to(builder.message, asked).plan

    assert [move.from_node for move in plan.moves] == ["other"]
    assert (plan.nodes_in_use.before, plan.nodes_in_use.after) == (3, 2)
    assert plan.nodes_in_use.lower_bound == 2
    assert verify_plan(builder.message, plan, asked.policy, asked) == []


def test_a_node_without_a_price_is_not_taken_into_use() -> None:
    """Else one forgotten label would make it seem that all can be saved."""
    builder = SnapshotBuilder()
    for name, micros in (("a", 3), ("b", 0)):
        builder.node(name, cpu_milli=4)
        builder.message.nodes[-1].hourly_price_micros = micros
    builder.pod("pod", cpu_milli=1, node="a")
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)

    plan = finished_answer_to(builder.message, asked).plan

    assert not plan.moves
    assert plan.nodes_in_use.price_lower_bound_micros == 3
    plan.moves.add(pod_uid="pod", from_node="a", to_node="b")
    told = verify_plan(builder.message, plan, asked.policy, asked)
    assert any(one.subject == "b" and "not known" in one.detail for one in told)


def test_where_nodes_are_alike_a_limit_is_about_the_roomiest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two nodes hold two pods each, the others that are nearly as large do not."""
    items = [Item(f"pod-{home}", 0, (50,), (0, 1, 2, 3), home) for home in range(4)]
    room = ((100,), (99,), (100,), (99,))
    packing = packing_of(("a", "b", "c", "d"), room, items, (0,))
    monkeypatch.setattr(fleet_of_kinds, "MANY_CELLS", 1)
    covering = _covering(packing)

    covering.prove()

    assert not covering.fleet.exact
    assert covering.limit == _least(packing, Costs(EACH * 4)) == 2


def test_prices_prove_what_counting_cannot() -> None:
    """Pods that fill more than half of a node need one each."""
    everywhere = (0, 1, 2, 3)
    items = [Item(f"pod-{home}", 0, (6, 1), everywhere, home) for home in range(4)]
    packing = packing_of(("a", "b", "c", "d"), ((10, 10),) * 4, items, (0,))
    covering = _covering(packing)

    covering.prove()
    by_fractions = covering.limit
    list(covering.assignments(5))

    assert (by_fractions, covering.limit) == (3, 4)


@pytest.fixture
def fleet() -> pb.Snapshot:
    """Return nodes that are half empty."""
    return _spread(nodes=60, pods=260)


def test_where_nodes_are_of_too_many_kinds_alike_ones_are_one(
    fleet: pb.Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits take them for the roomiest of them, and plans for the tightest."""
    for number, node in enumerate(fleet.nodes):
        node.allocatable.cpu_milli += number % 4
    exactly = finished_answer_to(fleet, _asked()).plan.nodes_in_use
    monkeypatch.setattr(fleet_of_kinds, "MANY_CELLS", 5 * len(DEMANDS))

    asked = _asked()
    plan = finished_answer_to(fleet, asked).plan

    assert verify_plan(fleet, plan, asked.policy, asked) == []
    found = plan.nodes_in_use
    assert found.lower_bound <= exactly.lower_bound
    assert exactly.after <= found.after < 1.1 * exactly.after


def test_contents_go_where_their_pods_are() -> None:
    """Nobody moves if nothing changes."""
    packing = reduce_snapshot(decoded(_spread(nodes=60, pods=260)))
    fleet = _covering(packing).fleet
    contents = list(zip(fleet.group.tolist(), fleet.home, strict=True))

    nodes = fleet_of_kinds.shared_out(fleet, contents[::-1])

    assert nodes is not None
    assert (nodes == fleet.problem.home).all()


@pytest.mark.parametrize("micros", [-1, 2, 2**43 + 1])
def test_a_node_that_cannot_be_read_costs_what_the_checker_counts(micros: int) -> None:
    """Its pods stay or leave; a price that is out of range is none."""
    builder = SnapshotBuilder()
    for name, price in (("a", 5), ("b", 3), ("c", micros)):
        builder.node(name, cpu_milli=4)
        builder.message.nodes[-1].hourly_price_micros = price
        builder.pod(f"pod-{name}", cpu_milli=1, node=name)
    builder.message.nodes[-1].taints.add(key="k", effect="Never")
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)

    plan = finished_answer_to(builder.message, asked).plan

    assert verify_plan(builder.message, plan, asked.policy, asked) == []
    assert plan.nodes_in_use.price_after_micros == 3


KINDS = tuple(
    (cores, cores * gib, accelerators)
    for cores, gib, accelerators in product((16, 32, 64), (4, 6, 8), (0, 2, 8))
)
"""27 kinds of nodes."""


def test_nearly_all_of_the_price_is_saved_that_can_be() -> None:
    """And more than by having as few nodes as possible, whatever these cost."""
    fleet = _spread(nodes=81, pods=300, unlike=KINDS)
    asked = _asked()
    fewest = finished_answer_to(fleet, asked).plan
    for node in fleet.nodes:
        cores = node.allocatable.cpu_milli
        price = 23_700 * (cores + 30 * node.allocatable.extended["gpu"])
        node.hourly_price_micros = price

    plan = finished_answer_to(fleet, asked).plan

    assert verify_plan(fleet, plan, asked.policy, asked) == []
    found = plan.nodes_in_use
    saved = found.price_before_micros - found.price_after_micros
    assert saved >= 0.95 * (found.price_before_micros - found.price_lower_bound_micros)
    assert found.price_after_micros < _price(fleet, fewest)


def _price(fleet: pb.Snapshot, plan: pb.Plan) -> int:
    goes = {move.pod_uid: move.to_node for move in plan.moves}
    used = {goes.get(pod.uid, pod.node) for pod in fleet.pods}
    return sum(one.hourly_price_micros for one in fleet.nodes if one.name in used)


def _asked() -> pb.SolveOptions:
    return pb.SolveOptions(
        objective=pb.OBJECTIVE_CONSOLIDATE, deterministic=True, time_limit_s=0.1
    )


def test_nearly_all_nodes_are_emptied_that_can_be(fleet: pb.Snapshot) -> None:
    """And more than by emptying one after the other."""
    asked = _asked()
    published: list[Solution] = []

    plan = finished_answer_to(fleet, asked, published=published).plan

    assert verify_plan(fleet, plan, asked.policy, asked) == []
    found = plan.nodes_in_use
    in_use = [one.nodes_in_use.after for one in published if one.nodes_in_use]
    assert in_use[:2] == [found.before, EMPTYING_LEAVES]
    assert found.before - found.after >= 0.95 * (found.before - found.lower_bound)


def test_where_work_is_counted_time_does_not_matter(fleet: pb.Snapshot) -> None:
    """A clock that leaps past every deadline changes nothing, nor a short limit."""
    packing = reduce_snapshot(decoded(fleet))
    options = SolveOptions(time_limit_s=0.001, deterministic=True)
    one, other = (
        Consolidate().solve(packing, Budget.begin(options, clock), lambda _: None)
        for clock in (time.monotonic, count(step=1000).__next__)
    )

    assert one.assignment == other.assignment
    assert one.nodes_in_use == other.nodes_in_use
    assert one.nodes_in_use is not None
    assert one.nodes_in_use.after < EMPTYING_LEAVES


def test_pods_stay_of_which_only_some_may_move(fleet: pb.Snapshot) -> None:
    """The others are packed around them."""
    for one in fleet.pod_classes[1:]:
        one.owner.uid = ""
    asked = _asked()
    asked.max_disruptions_per_owner = 2

    plan = finished_answer_to(fleet, asked).plan

    assert verify_plan(fleet, plan, asked.policy, asked) == []
    assert plan.nodes_in_use.after < EMPTYING_LEAVES


@pytest.mark.parametrize(("most", "short"), [(5, 0), (20, 1), (60, 2)])
def test_within_a_limit_of_moves_the_nodes_are_emptied_that_are_worth_most(
    fleet: pb.Snapshot, most: int, short: int
) -> None:
    """Nearly all that are proved, by moving no pod but theirs."""
    asked = _asked()
    asked.max_moves = most

    plan = finished_answer_to(fleet, asked).plan

    assert verify_plan(fleet, plan, asked.policy, asked) == []
    assert len(plan.moves) <= most
    found = plan.nodes_in_use
    assert found.lower_bound <= found.after <= found.lower_bound + short
    assert found.after < found.before
