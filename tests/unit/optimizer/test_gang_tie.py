"""A new kind of tie is one class and one line of `TIES`: here gangs, of which enough pods come or none."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

import pytest
from brute_force import Where, best_value, outcome, value_of
from snapshot_builder import SnapshotBuilder
from solving_in_process import finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.tie import STAYS, Pins, Rows, Tie
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.ties import registry
from stowage_optimizer.verify import verify_plan

GANG = "gang"
"""Label of the classes whose pods are a gang, with how many of them must have a node if any has."""

CASES = 40


@dataclass(frozen=True)
class GangTie(Tie):
    """Gangs: the members of each, and how many must have a node if any has."""

    gangs: tuple[tuple[tuple[int, ...], int], ...]

    def keeps(self, packing: Packing, assignment: Assignment) -> bool:
        """Return whether each gang has enough nodes or none, or is as it was."""
        return all(self._keeps(packing, assignment, *gang) for gang in self.gangs)

    def _keeps(self, packing: Packing, assignment: Assignment, members: Sequence[int], least: int) -> bool:
        placed = sum(assignment[one] is not None for one in members)
        return not 0 < placed < least or all(assignment[one] == packing.current[one] for one in members)

    def repaired(self, packing: Packing, assignment: Assignment, budget: TimeBudget) -> Assignment:
        """Have gangs wait that have too few nodes; if some of their pods run, change nothing."""
        del budget
        changed = list(assignment)
        for members, least in self.gangs:
            if not self._keeps(packing, assignment, members, least):
                if any(packing.current[one] is not None for one in members):
                    return packing.current
                for one in members:
                    changed[one] = None
        return tuple(changed)

    def pinned(self, packing: Packing, proposal: Assignment, budget: TimeBudget, rng: Random | None) -> Pins:
        """Have gangs wait that a proposal breaks, or some by chance."""
        del budget
        waits = [
            members
            for members, least in self.gangs
            if (rng.random() < 1 / 2 if rng else not self._keeps(packing, proposal, members, least))
        ]
        return {one: STAYS for members in waits for one in members}

    def write(self, packing: Packing, rows: Rows) -> None:
        """One variable a gang: whether it is there."""
        for members, least in self.gangs:
            classes = {packing.class_ids[one] for one in members}
            kinds = [kind for name in classes for kind in rows.kinds[name]]
            there = [variable for kind in kinds for variable in (*kind.stay.values(), *kind.come.values())]
            rows.program.at_most([(rows.any_of(there), least), *((one, -1) for one in there)], 0)

    def part(self, packing: Packing, members: Sequence[int], assignment: Assignment) -> Tie:
        """Count those that are elsewhere."""
        number = {index: at for at, index in enumerate(members)}
        left = []
        for gang, least in self.gangs:
            others = sum(one not in number and assignment[one] is not None for one in gang)
            left.append((tuple(number[one] for one in gang if one in number), least - others))
        return GangTie(tuple(left))


def gang_tie(packing: Packing) -> Tie | None:
    """Return the gangs of a problem."""
    members: defaultdict[str, list[int]] = defaultdict(list)
    for index, class_id in enumerate(packing.class_ids):
        members[class_id].append(index)
    classes = packing.snapshot.classes
    gangs = tuple(
        (tuple(found), int(classes[class_id].labels[GANG]))
        for class_id, found in members.items()
        if GANG in classes[class_id].labels
    )
    return GangTie(gangs) if gangs else None


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "TIES", (*registry.TIES, gang_tie))


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
    gang = builder.pod_class("gang", priority=rng.choice([0, 0, 5]), cpu_milli=rng.randint(1, 2))
    gang.labels[GANG] = str(rng.randint(2, 3))
    for number in range(size):
        builder.pod(f"g{number}", of="gang")
    return builder.pod("w", cpu_milli=rng.randint(1, 3)).message


def keeps(snapshot: pb.Snapshot, where: Where) -> bool:
    """Return whether the gang is whole and the budget kept."""
    (gang,) = (one for one in snapshot.pod_classes if GANG in one.labels)
    placed = sum(bool(where[pod.uid]) for pod in snapshot.pods if pod.class_id == gang.id)
    gone = sum(pod.class_id == "a" and where[pod.uid] != pod.node for pod in snapshot.pods)
    within = all(gone <= budget.disruptions_allowed for budget in snapshot.disruption_budgets)
    return within and not 0 < placed < int(gang.labels[GANG])


@pytest.mark.parametrize("strategy", ["lexicographic", "first-fit-decreasing"])
def test_gangs_come_whole_and_the_best_plan_is_found_and_nothing_false_is_claimed(strategy: str) -> None:
    """Though no strategy, no bound and no stage knows of them."""
    best_plans = 0
    whole = split = 0
    for seed in range(CASES):
        snapshot = random_snapshot(seed)
        asked = pb.SolveOptions(strategy=strategy, seed=1, deterministic=True, time_limit_s=2)

        plan = finished_answer_to(snapshot, asked).plan

        where = outcome(snapshot, plan)
        reached = value_of(snapshot, where, pb.POLICY_STRICT)
        best = best_value(snapshot, pb.POLICY_STRICT, partial(keeps, snapshot))
        free = best_value(snapshot, pb.POLICY_STRICT)
        assert verify_plan(snapshot, plan, pb.POLICY_STRICT, asked) == []
        assert keeps(snapshot, where)
        assert reached <= best <= free
        assert reached == best or not plan.optimal
        assert plan.tiers[0].upper_bound >= best[0][1]
        best_plans += reached == best
        whole += any(where[pod.uid] for pod in snapshot.pods if pod.class_id == "gang")
        split += best < free
    assert best_plans == CASES
    assert min(whole, split) > 2
