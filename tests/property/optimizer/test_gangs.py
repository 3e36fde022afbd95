"""Whatever gangs there are, plans keep them, and are the best of all that do."""

from functools import partial
from random import Random

import pytest
from brute_force import Where, plan_to, solve_and_compare
from packing_oracle import has_room, items_of
from snapshot_builder import SnapshotBuilder
from solving_in_process import decoded

from stowage_optimizer.assignments.subproblem import restricted
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.constraints.refusals import Gangs
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.tie import keeps_ties
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.stages.tied.exact import improved
from stowage_optimizer.ties.gangs import GangTie
from stowage_optimizer.ties.registry import with_ties
from stowage_optimizer.verify import verify_plan

SOLVED = 24
CHECKED = 60
PLANS = 40


def random_snapshot(seed: int) -> pb.Snapshot:
    """Return a few nodes in two racks, two gangs that run, wait or are broken, and another pod."""
    rng, builder = Random(seed), SnapshotBuilder()  # noqa: S311 - not for secrets
    room = [rng.randint(2, 4) for _ in range(3)]
    for node, size in enumerate(room):
        builder.node(f"n{node}", cpu_milli=size, labels={"rack": "ab"[node // 2]} if rng.random() < 0.9 else None)

    def home(size: int, chance: float) -> str:
        homes = [node for node, left in enumerate(room) if left >= size]
        if not homes or rng.random() >= chance:
            return ""
        room[found := rng.choice(homes)] -= size
        return f"n{found}"

    for name, size in (("g", rng.randint(2, 3)), ("k", 2)):
        one = builder.pod_class(name, priority=rng.choice([0, 0, 5]), cpu_milli=rng.randint(1, 2))
        runs = rng.choice([0.0, 0.0, 0.6, 1.0])
        for number in range(size):
            builder.pod(f"{name}{number}", of=name, node=home(one.requests.cpu_milli, runs))
            pod = builder.message.pods[-1]
            if pod.node and rng.random() < 1 / 6:
                pod.movable, pod.immovable_reason = False, rng.choice(["daemonset", "terminating"])
        rack = "rack" if rng.random() < 1 / 5 else ""
        builder.gang(name, name, least=rng.randint(1, size), whole=rng.random() < 1 / 4, topology_key=rack)
    size = rng.randint(1, 2)
    return builder.pod("x", cpu_milli=size, priority=rng.choice([0, 5, 9]), node=home(size, 0.6)).message


def keeps(snapshot: pb.Snapshot, where: Where) -> bool:
    """Return whether every gang has enough nodes, or none, or is as it was."""
    rack = {node.name: node.labels.get("rack") for node in snapshot.nodes}
    for gang in snapshot.gangs:
        classes = {one.id for one in snapshot.pod_classes if one.gang == gang.id}
        members = [pod for pod in snapshot.pods if pod.class_id in classes]
        if all(where[pod.uid] == pod.node for pod in members):
            continue
        counted = [pod for pod in members if pod.immovable_reason != "terminating"]
        nodes = [where[pod.uid] for pod in counted if where[pod.uid]]
        left = {where[pod.uid] != pod.node for pod in counted if pod.node}
        racks = {rack[node] for node in nodes}
        apart = bool(gang.topology_key and nodes) and (len(racks) > 1 or None in racks)
        if 0 < len(nodes) < gang.min_count or apart or (gang.leaves_whole and len(left) > 1):
            return False
    return True


@pytest.mark.parametrize("first", range(0, CHECKED, 20))
def test_the_tie_and_the_checker_agree_with_the_rule_on_any_plan(first: int) -> None:
    """Three texts of one rule: the strategies', the checker's and this test's."""
    broken = 0
    for seed in range(first, first + 20):
        rng, snapshot = Random(seed), random_snapshot(seed)  # noqa: S311 - not for secrets
        packing = with_ties(reduce_snapshot(decoded(snapshot), gangs=Gangs.WHOLE))
        number = {name: node for node, name in enumerate(packing.node_names)}
        for _ in range(PLANS):
            where = {
                pod.uid: rng.choice([pod.node, pod.node, "", *number]) if pod.movable or not pod.node else pod.node
                for pod in snapshot.pods
            }
            kept = keeps(snapshot, where)
            assignment = tuple(number.get(where[item.pod_uid]) for item in items_of(packing))
            assert all(tie.keeps(packing, assignment) for tie in packing.ties) == kept
            found = verify_plan(snapshot, plan_to(snapshot, where), pb.POLICY_PAPER)
            assert ("gang" in {one.rule for one in found}) != kept
            broken += not kept
    assert 20 < broken < 20 * PLANS - 20


def test_a_part_of_a_problem_keeps_gangs_just_if_the_whole_does() -> None:
    """Whatever the others do; and the exact search accepts a start that does, or nothing would be possible."""
    kept = tried = 0
    for seed in range(CHECKED):
        rng, snapshot = Random(seed), random_snapshot(seed)  # noqa: S311 - not for secrets
        packing = with_ties(reduce_snapshot(decoded(snapshot), gangs=Gangs.WHOLE))
        budget = TimeBudget.begin(SolveOptions(deterministic=True, time_limit_s=1), lambda: 0.0)
        nodes = range(len(packing.node_names))
        for _ in range(PLANS):
            others = tuple(rng.choice([home, home, None, *nodes]) for home in packing.current)
            members = [item for item in range(len(others)) if rng.random() < 1 / 2]
            part = restricted(packing, members, others)
            changed, start = list(others), list[int | None]()
            for item in members:
                start.append(rng.choice([others[item], None, packing.current[item], *nodes]))
                changed[item] = start[-1]
            touched = [
                one
                for tie in packing.ties
                if isinstance(tie, GangTie)
                for one in tie.gangs
                if {*one.items} & {*members}
            ]
            keeps_them = all(one.kept(packing.current, changed) for one in touched)
            assert keeps_ties(part, tuple(start)) == keeps_them
            tried += 1
            if keeps_them and part.ties and has_room(packing, tuple(changed)):
                kept += 1
                improved(part, tuple(start), 0, budget)
    assert 100 < kept < tried / 2


@pytest.mark.parametrize("strategy", ["lexicographic", "first-fit-decreasing"])
def test_plans_with_gangs_are_the_best_and_claim_nothing_false(strategy: str) -> None:
    """Compared with every assignment of the pods."""
    best_plans = 0
    for seed in range(SOLVED):
        snapshot = random_snapshot(seed)
        _, reached, best = solve_and_compare(snapshot, strategy, partial(keeps, snapshot))
        best_plans += reached == best
    assert best_plans >= SOLVED - 1
