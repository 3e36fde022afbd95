"""Of a gang enough pods come or none, and strategies and bounds that know nothing of gangs find the best such plan."""

from functools import partial
from random import Random

import pytest
from brute_force import Where, best_value, outcome, plan_to, solve_and_compare
from gang_recordings import RECORDINGS, GangRecording
from snapshot_builder import SnapshotBuilder
from solving_in_process import FindsNothing, budget_of, decoded, finished_answer_to

from benchmarks.gangs.generator import THREADS, make_instance
from benchmarks.gangs.outcome import outcome_of, where_after
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.stages import pipeline
from stowage_optimizer.verify import verify_plan

CASES = 40


def random_snapshot(seed: int) -> pb.Snapshot:
    """Return a few pods, of which some wait as a gang, under a budget or not."""
    rng, builder = Random(seed), SnapshotBuilder()  # noqa: S311 - not for secrets
    room = [rng.randint(2, 5) for _ in range(rng.choice([2, 2, 3]))]
    for node, size in enumerate(room):
        builder.node(f"n{node}", cpu_milli=size)
    for name in ("a", "b"):
        one = builder.pod_class(name, priority=rng.choice([0, 0, 5]), cpu_milli=rng.randint(1, 3))
        one.labels["app"] = name
        for number in range(rng.randint(0, 2 if name == "a" else 1)):
            homes = [node for node, left in enumerate(room) if left >= one.requests.cpu_milli]
            if homes:
                home = rng.choice(homes)
                room[home] -= one.requests.cpu_milli
                builder.pod(f"{name}{number}", of=name, node=f"n{home}")
    if rng.random() < 1 / 2:
        selector = pb.LabelSelector(match_labels={"app": "a"})
        builder.message.disruption_budgets.add(
            namespace="default", name="a", selector=selector, disruptions_allowed=rng.randint(1, 2)
        )
    size = 3
    builder.pod_class("gang", priority=rng.choice([0, 0, 5]), cpu_milli=rng.randint(1, 2))
    builder.gang("g", "gang", least=rng.randint(2, 3))
    for number in range(size):
        builder.pod(f"g{number}", of="gang")
    return builder.pod("w", cpu_milli=rng.randint(1, 3)).message


def keeps(snapshot: pb.Snapshot, where: Where) -> bool:
    """Return whether the gang is whole and the budget kept."""
    placed = sum(bool(where[pod.uid]) for pod in snapshot.pods if pod.class_id == "gang")
    gone = sum(pod.class_id == "a" and where[pod.uid] != pod.node for pod in snapshot.pods)
    within = all(gone <= budget.disruptions_allowed for budget in snapshot.disruption_budgets)
    return within and not 0 < placed < snapshot.gangs[0].min_count


@pytest.mark.parametrize("strategy", ["lexicographic", "first-fit-decreasing"])
def test_gangs_come_whole_and_the_best_plan_is_found_and_nothing_false_is_claimed(strategy: str) -> None:
    """Though no strategy, no bound and no stage knows of them."""
    best_plans = 0
    whole = split = 0
    for seed in range(CASES):
        snapshot = random_snapshot(seed)
        plan, reached, best = solve_and_compare(snapshot, strategy, partial(keeps, snapshot))
        where, free = outcome(snapshot, plan), best_value(snapshot, pb.POLICY_STRICT)
        assert best <= free
        assert plan.tiers[0].upper_bound >= best[0][1]
        best_plans += reached == best
        whole += any(where[pod.uid] for pod in snapshot.pods if pod.class_id == "gang")
        split += best < free
    assert best_plans == CASES
    assert min(whole, split) > 2


@pytest.mark.parametrize("strategy", ["lexicographic", "first-fit-decreasing"])
@pytest.mark.parametrize("one", RECORDINGS, ids=lambda one: one.name)
def test_the_right_answer_to_each_recording_is_found(one: GangRecording, strategy: str) -> None:
    """They were solved by hand: each shows one thing that a plan must do about a gang."""
    asked = pb.SolveOptions(strategy=strategy, seed=1, deterministic=True, time_limit_s=2)

    plan = finished_answer_to(one.snapshot, asked).plan

    assert verify_plan(one.snapshot, plan, pb.POLICY_STRICT, asked) == []
    assert tuple((tier.priority, tier.placed, tier.disruption) for tier in plan.tiers) == one.tiers
    gangs = {each.id: each.gang for each in one.snapshot.pod_classes}
    class_of = {pod.uid: pod.class_id for pod in one.snapshot.pods}
    units = {step.pod_uid: step.unit for step in plan.placements}
    units |= {step.pod_uid: step.unit for step in plan.moves}
    units |= {step.pod_uid: step.unit for step in plan.evictions}
    for uid, unit in units.items():
        gang = gangs[class_of[uid]]
        assert unit == (f"gang/{gang}" if gang else "")


@pytest.mark.parametrize("one", RECORDINGS, ids=lambda one: one.name)
def test_the_checker_rejects_plans_that_break_a_gang(one: GangRecording) -> None:
    """And no other rule does: without it such a plan would be carried out."""
    right = verify_plan(one.snapshot, plan_to(one.snapshot, one.plan), pb.POLICY_STRICT)
    assert {each.rule for each in right} <= {"tiers", "bounds"}
    for broken in one.broken:
        found = verify_plan(one.snapshot, plan_to(one.snapshot, broken), pb.POLICY_PAPER)
        assert "gang" in {each.rule for each in found}


def test_no_pod_of_a_gang_comes_alone_because_it_would_rather_be_near_another() -> None:
    """What sees to the relations of waiting pods places them, too: one of the gang has room."""
    builder = SnapshotBuilder().node("n", cpu_milli=2, labels={"zone": "a"})
    builder.pod_class("resident", cpu_milli=1).labels["app"] = "resident"
    gang = builder.pod("resident", of="resident", node="n").pod_class("gang", cpu_milli=1)
    term = gang.required_pod_affinity.add(topology_key="zone")
    term.label_selector.match_labels["app"] = "resident"
    builder.gang("g", "gang", least=2).pod("first", of="gang").pod("second", of="gang")
    asked = pb.SolveOptions(strategy="lexicographic", seed=1, deterministic=True, time_limit_s=2)
    published: list[Solution] = []

    answer = finished_answer_to(builder.message, asked, published=published)

    for one in (*published, answer.solution):
        assert not encode_plan(one).placements
    assert answer.plan.optimal


@pytest.mark.parametrize(("seed", "stock"), [(2, (8, 46, 77)), (7, (106, 128, 36))])
def test_no_fewer_pods_come_in_gangs_than_the_stock_scheduler_places(seed: int, stock: tuple[int, ...]) -> None:
    """Gangs that a plan evicts find room elsewhere, and one that lacks a few pods takes those of lower priority off.

    Figures of `make bench-gangs` for Kubernetes 1.37.2, by priority, highest first.
    """
    instance = make_instance(seed)
    asked = pb.SolveOptions(strategy="lexicographic", seed=1, deterministic=True, time_limit_s=5)

    plan = finished_answer_to(instance.snapshot(), asked).plan

    assert outcome_of(instance, where_after(instance, plan), ()).gang_pods >= stock


def test_gangs_preempt_whatever_a_strategy_finds() -> None:
    """Time may be over before the search of a large cluster finds anything; stock places 323, 317 and 252 pods."""
    instance = make_instance(229)
    packings = pipeline.Packings(decoded(instance.snapshot()))

    found = pipeline.solve(FindsNothing(), packings, budget_of(SolveOptions(time_limit_s=5.0)), lambda _one: None)

    assert outcome_of(instance, where_after(instance, encode_plan(found)), ()).gang_pods >= (323, 317, 252)


def test_a_gang_that_leaves_whole_exchanges_nodes_before_it_is_evicted() -> None:
    """kueue#5243: eight GPUs of one node are needed, and gangs lie across all nodes; only one of them has to go."""
    asked = pb.SolveOptions(strategy="lexicographic", seed=1, deterministic=True, time_limit_s=5)
    kueue = THREADS[0]

    plan = finished_answer_to(kueue.snapshot(), asked).plan

    assert (len(plan.placements), len(plan.moves), len(plan.evictions)) == (1, 12, 4)
    assert plan.optimal


@pytest.mark.parametrize(("seed", "placed"), [(1, (63, 163, 235)), (6, (5, 68, 96)), (18, (68, 215, 243))])
def test_what_gangs_leave_room_for_is_proved_where_their_parts_would_find_more(
    seed: int, placed: tuple[int, ...]
) -> None:
    """Counted pod by pod, all nodes together have room for more; but not for one more gang that is whole."""
    asked = pb.SolveOptions(strategy="lexicographic", seed=1, deterministic=True, time_limit_s=5)

    answer = finished_answer_to(make_instance(seed).snapshot(), asked)

    assert tuple(tier.placed for tier in answer.plan.tiers) == placed
    assert answer.plan.optimal
    assert verify_plan(make_instance(seed).snapshot(), answer.plan, pb.POLICY_STRICT, asked) == []
