"""Plans for a cluster: those of the strategies, and what they become when spoiled.

Whether a mutation breaks a rule depends on the cluster: that is what is compared.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_optimizer.verify.accounting import count_tiers
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.index import Index
from stowage_optimizer.verify.terms import covers
from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate.instance import Question

STRATEGIES = ("lexicographic", "cpsat-aggregated", "first-fit-decreasing")
TIME_LIMIT_S = 2.0
"""More than nearly all need; any plan will do."""

FAILURES = (pb.END_REASON_ERROR, pb.END_REASON_INFEASIBLE_INPUT)


def answer(
    rng: Random, optimizer: pb_grpc.OptimizerStub, strategy: str, question: Question, snapshot: pb.Snapshot
) -> pb.Plan:
    """Return a strategy's plan.

    Raises
    ------
    StowageError
        The optimiser takes the scheduler's snapshot for faulty, or failed.
    """
    options = pb.SolveOptions(
        strategy=strategy,
        policy=question.policy,
        time_limit_s=TIME_LIMIT_S,
        seed=rng.randrange(2**31),
        workers=1,
        deterministic=True,
    )
    # What came before the last one depends on the time that checking took.
    *_, last = optimizer.Solve(pb.SolveRequest(snapshot=snapshot, options=options))
    if last.end_reason in FAILURES:
        raise StowageError(f"{strategy}: no plan for {snapshot.id}: {last.message}")
    plan: pb.Plan = last.plan
    return plan


@dataclass(slots=True)
class Step:
    """A pod comes, moves, or goes: a placement has no start, an eviction no end."""

    pod: str
    start: str = ""
    end: str = ""


@dataclass(slots=True)
class Spoiled:
    """A plan that is about to be changed."""

    rng: Random
    snapshot: pb.Snapshot
    index: Index
    steps: list[Step]

    def node(self) -> str:
        """Return any node."""
        return self.rng.choice(list(self.index.nodes))

    def open_node(self, uid: str) -> str:
        """Return a node that has room for the pod and does not refuse it by itself."""
        pod, index = self.index.pods.get(uid), self.index
        if pod is None:
            return self.node()
        wanted = index.asked_for[pod.class_id]
        roomy = [
            node
            for node in index.eligibility.welcoming(pod.class_id, index.nodes)
            if all(index.free[what][index.number[node]] >= n for what, n in wanted)
        ]
        return self.rng.choice(roomy) if roomy else self.node()

    def some(self, steps: Iterable[Step]) -> Sequence[Step]:
        """Return one of ``steps``, or none if there is none."""
        found = list(steps)
        return [self.rng.choice(found)] if found else []

    def arriving(self) -> list[Step]:
        """Return the steps that bring a pod to a node."""
        return [step for step in self.steps if step.end]

    def moves(self) -> list[Step]:
        """Return the steps that move a pod."""
        return [step for step in self.arriving() if step.start]

    def untouched(self, *, running: bool = True) -> list[pb.Pod]:
        """Return the pods that the plan leaves alone, in random order."""
        named = {step.pod for step in self.steps}
        found = [pod for uid, pod in self.index.pods.items() if uid not in named and bool(pod.node) == running]
        self.rng.shuffle(found)
        return found

    def disrupt(self, pods: Iterable[pb.Pod]) -> None:
        """Move each somewhere, or evict it."""
        for pod in pods:
            end = self.rng.choice(("", self.node()))
            self.steps.append(Step(pod.uid, pod.node, end))


def _rename(at: Spoiled) -> None:
    for step in at.some(at.steps):
        step.pod = at.rng.choice(("ghost", ""))


def _send_nowhere(at: Spoiled) -> None:
    for step in at.some(at.arriving()):
        step.end = "ghost"


def _name_twice(at: Spoiled) -> None:
    """Let a pod come, move or go a second time, or evict one that moves."""
    for step in at.some(at.steps):
        again = Step(step.pod, step.start, step.end)
        if step.start:
            again.end = at.rng.choice(("", step.end))
        at.steps.append(again)


def _take_from_elsewhere(at: Spoiled) -> None:
    """Take a pod from a node that it is not on: a waiting one, too."""
    for step in at.some(at.steps):
        step.start = at.node()


def _place_a_running_pod(at: Spoiled) -> None:
    for pod in at.untouched()[:1]:
        at.steps.append(Step(pod.uid, "", at.node()))


def _send_elsewhere(at: Spoiled) -> None:
    for step in at.some(at.arriving()):
        step.end = at.node()


def _send_where_it_may_run(at: Spoiled) -> None:
    for step in at.some(at.arriving()):
        step.end = at.open_node(step.pod)


def _swap(at: Spoiled) -> None:
    for one, other in zip(at.some(at.arriving()), at.some(at.arriving()), strict=True):
        one.end, other.end = other.end, one.end


def _crowd(at: Spoiled) -> None:
    """Send all pods to one node."""
    node = at.node()
    for step in at.arriving():
        step.end = node


def _leave_out(at: Spoiled) -> None:
    """Leave out a step that others may need."""
    for step in at.some(at.steps):
        at.steps.remove(step)


def _place_none(at: Spoiled) -> None:
    at.steps = [step for step in at.steps if step.start]


def _place_one_more(at: Spoiled) -> None:
    for pod in at.untouched(running=False)[:1]:
        at.steps.append(Step(pod.uid, "", at.open_node(pod.uid)))


def _place_all(at: Spoiled) -> None:
    """Send every pod that still waits somewhere, gated and unsupported ones too."""
    for pod in at.untouched(running=False):
        at.steps.append(Step(pod.uid, "", at.node()))


def _reverse(at: Spoiled) -> None:
    at.steps.reverse()


def _stay(at: Spoiled) -> None:
    for step in at.some(at.moves()):
        step.end = step.start


def _disrupt_a_movable_pod(at: Spoiled) -> None:
    at.disrupt([pod for pod in at.untouched() if pod.movable][:1])


def _disrupt_a_protected_pod(at: Spoiled) -> None:
    at.disrupt([pod for pod in at.untouched() if not pod.movable][:1])


def _evict_the_highest(at: Spoiled) -> None:
    ranks = at.index.priority
    by_rank = sorted(at.untouched(), key=lambda pod: ranks[pod.class_id])
    for pod in by_rank[-1:]:
        at.steps.append(Step(pod.uid, pod.node))


def _evict_instead(at: Spoiled) -> None:
    for step in at.some(at.moves()):
        step.end = ""


def _overdraw_a_budget(at: Spoiled) -> None:
    budgets = list(at.snapshot.disruption_budgets)
    for budget in at.rng.sample(budgets, min(1, len(budgets))):
        classes = at.index.classes
        held = (x for x in at.untouched() if covers(budget, classes[x.class_id]))
        at.disrupt(held)


def _change_places(at: Spoiled) -> None:
    """Let two pods on different nodes go round in a circle."""
    movable = [pod for pod in at.untouched() if pod.movable]
    for one, other in pairwise(movable[:2]):
        at.steps.append(Step(one.uid, one.node, other.node))
        at.steps.append(Step(other.uid, other.node, one.node))


MUTATIONS: tuple[Callable[[Spoiled], None], ...] = (
    # What only relations between pods refuse is rare among all others.
    *(_send_where_it_may_run, _place_one_more) * 5,
    _rename,
    _send_nowhere,
    _name_twice,
    _take_from_elsewhere,
    _place_a_running_pod,
    _send_elsewhere,
    _swap,
    _crowd,
    _leave_out,
    _place_none,
    _place_all,
    _reverse,
    _stay,
    _disrupt_a_movable_pod,
    _disrupt_a_protected_pod,
    _evict_the_highest,
    _evict_instead,
    _overdraw_a_budget,
    _change_places,
)
AT_ONCE = (1, 1, 1, 2, 3)
STALE = 0.05


def spoil(rng: Random, good: pb.Plan, snapshot: pb.Snapshot, index: Index) -> pb.Plan:
    """Return ``good`` after some mutations, with a true account of itself."""
    at = Spoiled(rng, snapshot, index, [])
    at.steps += [Step(one.pod_uid, "", one.node) for one in good.placements]
    at.steps += [Step(one.pod_uid, one.from_node, one.to_node) for one in good.moves]
    at.steps += [Step(one.pod_uid, one.node) for one in good.evictions]
    for mutate in rng.sample(MUTATIONS, rng.choice(AT_ONCE)):
        mutate(at)
    plan = pb.Plan(snapshot_id="" if rng.random() < STALE else snapshot.id)
    for step in at.steps:
        if not step.start:
            plan.placements.add(pod_uid=step.pod, node=step.end)
        elif step.end:
            plan.moves.add(pod_uid=step.pod, from_node=step.start, to_node=step.end)
        else:
            plan.evictions.add(pod_uid=step.pod, node=step.start)
    recount_tiers(plan, snapshot, index)
    return plan


def recount_tiers(plan: pb.Plan, snapshot: pb.Snapshot, index: Index) -> None:
    """Write the tiers of ``plan`` anew, with nothing claimed that is not counted."""
    del plan.tiers[:]
    del plan.gain_by_moves[:]
    plan.ClearField("nodes_in_use")
    case = Case(snapshot, plan, pb.POLICY_STRICT, index=index)
    for priority, before, placed, disruption in count_tiers(case):
        plan.tiers.add(
            priority=priority,
            placed_before=before,
            placed=placed,
            upper_bound=len(snapshot.pods),
            disruption=disruption,
        )
    plan.optimal = not plan.tiers
