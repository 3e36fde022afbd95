"""Small clusters: what optimiser and scheduler answer and claim, held against the oracle."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from random import Random

from solving_in_process import finished_answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan
from stowage_testbed.simulate.process import SchedulerVerifier, find_profile
from tests.differential.proofs.cases import Case, make_case
from tests.differential.proofs.manifests import question_of, with_unsupported
from tests.differential.proofs.oracle import Oracle, Value

PIECE = 100
"""Cases that are measured together."""

BEST = 0.99
"""Share of the cases that are to be answered with the best plan."""

OPTIMISER, SCHEDULER = "optimiser", "scheduler"
"""Who is asked: the optimiser about a snapshot, or a scheduler about objects, which it makes the snapshot of."""

UNSUPPORTED = "scheduler, a class unsupported"
"""The same, where no plan can contain the pods of a class."""

ASKED = (OPTIMISER, SCHEDULER, UNSUPPORTED)


@dataclass(frozen=True, slots=True)
class Piece:
    """What came of `PIECE` cases.

    ``worse`` are those not answered with the best plan, ``faults`` are false claims and broken rules, a line each.
    """

    worse: tuple[int, ...]
    faults: tuple[str, ...]


def measure(first: int, strategy: str, asked: str = OPTIMISER) -> Piece:
    """Return what comes of the cases from ``first`` on."""
    worse, faults = list[int](), list[str]()
    with nullcontext() if asked == OPTIMISER else SchedulerVerifier(find_profile("deterministic")) as verifier:
        for seed in range(first, first + PIECE):
            case = make_case(seed)
            case.options.strategy = strategy
            if verifier is None:
                if seed % 2:
                    _weigh(case.snapshot, seed)
                is_best, found = _judge(case)
            else:
                is_best, found = _judge_through_scheduler(case, seed, verifier, unsupported=asked == UNSUPPORTED)
            faults += [f"case {seed} by the {asked}: {fault}" for fault in found]
            worse += [] if is_best else [seed]
    return Piece(tuple(worse), tuple(faults))


def _weigh(snapshot: pb.Snapshot, seed: int) -> None:
    """Let the pods of each class count for more or less. The scheduler counts each of them as one."""
    random = Random(seed)  # noqa: S311 - the same cases each time
    for one in snapshot.pod_classes:
        one.worth = random.randint(0, 4)


Verdict = tuple[bool, list[str]]
"""Whether the answer is the best plan, and what is false about it."""


def _judge(case: Case) -> Verdict:
    """Judge the answer of the optimiser alone."""
    plan = finished_answer_to(case.snapshot, case.options).plan
    broken = verify_plan(case.snapshot, plan, pb.POLICY_STRICT, case.options)
    faults = [f"{one.rule} {one.subject}: {one.detail}" for one in broken]
    return _verdict(case, plan, faults, proved=plan.optimal, tiers=True)


def _judge_through_scheduler(case: Case, seed: int, verifier: SchedulerVerifier, *, unsupported: bool) -> Verdict:
    """Judge the answer where a scheduler makes the snapshot.

    It reads the case's objects, looks at the plan with its own plugins, and claims what is proved of the cluster. Pods
    of a class that is unsupported can move, but no plan contains them: such a claim has to leave them aside. Limits of
    tiers are about the snapshot.
    """
    question = question_of(case)
    if unsupported:
        question = with_unsupported(question, case.snapshot, seed)
    plan = finished_answer_to(verifier.verify(question).snapshot, case.options).plan
    (said,) = verifier.judge(replace(question, plans=(plan,))).of_plans
    faults = [] if said.accepted else [f"refused: {said.reason}, {said.detail}"]
    return _verdict(case, plan, faults, proved=said.proved, tiers=not unsupported)


def _verdict(case: Case, plan: pb.Plan, faults: list[str], *, proved: bool, tiers: bool) -> Verdict:
    oracle = Oracle(case)
    best, reached = oracle.best, oracle.value(oracle.outcome(plan))
    if tiers:
        faults += _false(plan, reached, best)
    if proved and reached < best:
        faults.append(f"it is said to be proved: {reached}, {best} can be")
    if tiers and reached > best:
        faults.append(f"the oracle knows nothing of {reached}, its best is {best}")
    return reached == best, faults


def _false(plan: pb.Plan, reached: Value, best: Value) -> Iterator[str]:
    """Yield the claims of ``plan`` that the best plan refutes."""
    for index, tier in enumerate(plan.tiers):
        name = f"tier {tier.priority}"
        if tier.optimal and reached[: index + 1] < best[: index + 1]:
            yield f"{name} is said to be optimal: {reached}, {best} can be"
            return
        if reached[:index] != best[:index] or reached[index][0] != best[index][0]:
            return
        kept, placed, stability = best[index]
        if tier.upper_bound < placed:
            yield f"{name} is said to place {tier.upper_bound} at most: {placed} can be"
        if reached[index][:2] == (kept, placed) and (tier.disruption_lower_bound > -stability):
            yield f"{name} is said to disrupt at least {tier.disruption_lower_bound}"
