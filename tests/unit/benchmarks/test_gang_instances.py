"""The clusters of the benchmark of gangs, and how their ends are counted, without any scheduler."""

import numpy as np
import pytest
from brute_force import Where, plan_to
from brute_force import best_value as best_of_every_assignment

from benchmarks.gangs.exhaustive import best_value
from benchmarks.gangs.generator import SIZES, THREADS, make_instance, make_tiny
from benchmarks.gangs.instance import NOWHERE, Amounts, GangInstance, Workload
from benchmarks.gangs.outcome import outcome_of, where_after
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan

INSTANCES = [make_instance(seed) for seed in range(1, 26)]
TINY = [make_tiny(seed) for seed in range(1, 121)]
FOUR_PODS = [one for one in TINY if sum(len(workload.homes) for workload in one.workloads) == 4]


def asked(instance: GangInstance, *, running: bool) -> np.ndarray:
    """Return what is asked for by node, or of all nodes in the last row."""
    total = np.zeros((len(instance.nodes) + 1, 3), dtype=int)
    for one in instance.workloads:
        for home in one.homes:
            if home != NOWHERE or not running:
                total[home] += one.need
    return total


def test_a_seed_makes_the_same_cluster_again() -> None:
    """A run that is resumed, or repeated elsewhere, is about the same clusters."""
    assert [make_instance(seed) for seed in range(1, 26)] == INSTANCES
    assert len({repr(one.workloads) for one in INSTANCES}) == len(INSTANCES)


def test_clusters_are_as_large_and_as_full_as_the_figures_say() -> None:
    """8 to 128 nodes, gangs of 2 to 64, three priorities, and 0.9 to 1.1 of the scarcest resource."""
    gangs = [one for instance in INSTANCES for one in instance.workloads if one.least]
    sizes = [len(one.homes) for one in gangs]
    fills = []
    for instance in INSTANCES:
        room = np.array(instance.nodes).sum(axis=0)
        wanted = np.array([np.array(one.need) * len(one.homes) for one in instance.workloads]).sum(axis=0)
        fills.append(max(wants / has for wants, has in zip(wanted, room, strict=True) if has))

    assert {len(one.nodes) for one in INSTANCES} == set(SIZES)
    assert min(sizes) == 2
    assert 32 < max(sizes) <= 64
    assert {one.priority for one in gangs} == {0, 100, 200}
    assert 0.85 < min(fills) < 0.95
    assert 1.05 < max(fills) < 1.1
    assert {one.leaves_whole for one in gangs} == {True, False}
    running = [sum(home != NOWHERE for home in one.homes) for one in gangs]
    enough = {(number > 0, number >= one.least) for number, one in zip(running, gangs, strict=True)}
    assert enough == {(False, False), (True, False), (True, True)}


@pytest.mark.parametrize("instance", [*INSTANCES, *TINY[:20], *THREADS], ids=lambda one: one.name)
def test_what_runs_has_its_room_and_both_sides_get_the_same(instance: GangInstance) -> None:
    """A scheduler that begins with nodes beyond their room, or with other pods, is compared with nothing."""
    snapshot, simulated = instance.snapshot(), instance.simulated()

    assert (asked(instance, running=True)[:-1] <= np.array(instance.nodes)).all()
    pods = {f"default/{pod['metadata']['name']}": pod["spec"] for pod in simulated.pods}
    classes = {one.id: one for one in snapshot.pod_classes}
    assert {pod.uid: pod.node for pod in snapshot.pods} == {
        name: spec.get("nodeName", "") for name, spec in pods.items()
    }
    for pod in snapshot.pods:
        spec, of = pods[pod.uid], classes[pod.class_id]
        group = spec.get("schedulingGroup", {}).get("podGroupName", "")
        assert (spec["priority"], f"default/{group}" if group else "") == (of.priority, of.gang)
        requests = spec["containers"][0]["resources"]["requests"]
        assert requests["cpu"] == f"{of.requests.cpu_milli}m"
        assert int(requests.get("nvidia.com/gpu", 0)) == of.requests.extended.get("nvidia.com/gpu", 0)
    groups = {f"default/{one['metadata']['name']}": one["spec"] for one in simulated.objects}
    assert {one.id: (one.min_count, one.leaves_whole) for one in snapshot.gangs} == {
        name: (spec["schedulingPolicy"]["gang"]["minCount"], "all" in spec["disruptionMode"])
        for name, spec in groups.items()
    }


SMALL = Amounts(1000, 1)


def test_what_a_broken_gang_is_left_with_counts_as_victims() -> None:
    """Preemption takes single pods; those that stay behind do no work, whatever the list of evictions says."""
    nodes = (Amounts(4000, 100),) * 2
    whole = Workload("g", 100, SMALL, (0, 0, 1, 1), least=4)
    slack = Workload("s", 0, SMALL, (0, 1, NOWHERE), least=1)
    instance = GangInstance("two", nodes, (whole, slack))
    start = where_after(instance, pb.Plan())

    nothing = outcome_of(instance, start, ())
    assert (nothing.gangs, nothing.gang_pods, nothing.victims) == ((1, 1), (4, 2), 0)
    one_of_each = {"default/g-0", "default/s-0"}
    broken = outcome_of(instance, {**start, **dict.fromkeys(one_of_each)}, one_of_each)
    assert (broken.gangs, broken.gang_pods, broken.pods) == ((0, 1), (0, 1), (3, 1))
    assert (broken.lost, broken.left_behind, broken.victims, broken.disrupted) == (2, 3, 5, 2)
    # Whoever is placed again was disrupted, and is no victim.
    moved = outcome_of(instance, {**start, "default/g-0": "node-001"}, {"default/g-0", "default/s-2"})
    assert (moved.victims, moved.disrupted) == (0, 1)


def test_a_plan_leaves_pods_where_its_steps_say() -> None:
    """The checker looks at the plan; what it came to is counted from here."""
    nodes = (Amounts(4000, 100),) * 2
    instance = GangInstance("one", nodes, (Workload("g", 0, SMALL, (0, 0, NOWHERE, NOWHERE), least=2),))
    plan = pb.Plan()
    plan.moves.add(pod_uid="default/g-0", from_node="node-000", to_node="node-001")
    plan.evictions.add(pod_uid="default/g-1", node="node-000")
    plan.placements.add(pod_uid="default/g-2", node="node-000")

    assert where_after(instance, plan) == {
        "default/g-0": "node-001", "default/g-1": None, "default/g-2": "node-000", "default/g-3": None
    }  # fmt: skip


@pytest.mark.parametrize("instance", FOUR_PODS, ids=lambda one: one.name)
def test_the_best_of_all_plans_is_that_of_all_assignments(instance: GangInstance) -> None:
    """It tries pods by kind and node; every pod by itself, with the checker's rule about gangs, gives the same."""
    snapshot = instance.snapshot()

    def keeps(where: Where) -> bool:
        found = verify_plan(snapshot, plan_to(snapshot, where), pb.POLICY_PAPER)
        return "gang" not in {one.rule for one in found}

    best = best_of_every_assignment(snapshot, pb.POLICY_STRICT, keeps)
    ran = {
        priority: sum(home != NOWHERE for one in instance.workloads if one.priority == priority for home in one.homes)
        for priority in instance.priorities
    }
    by_tier = zip(best, instance.priorities, strict=True)
    assert best_value(instance) == tuple((kept - ran[one], placed, stays) for (kept, placed, stays), one in by_tier)
