"""Plans of the optimiser, looked at by the scheduler until it has no objection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import RunningService, no_answer
from stowage_testbed.simulate import Continued, Judgement, PlanJudgement, Question, SchedulerVerifier
from stowage_testbed.whatif.allowance import Part
from stowage_testbed.whatif.release import Release

REHEARSALS = 8
"""How often a plan that is refused is made again, without what was refused."""

UNJUST_EVICTION, LIMIT = "unjust-eviction", "limit"
"""Reasons of refused plans."""

POLICIES = {"Strict": pb.POLICY_STRICT, "Paper": pb.POLICY_PAPER}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan that every plugin of the scheduler accepts, and what was left alone.

    Attributes
    ----------
    plan
        Empty if no other was accepted in time.
    continued
        What the scheduler then makes of the pods that still wait; ``None`` if the plan
        changes nothing.
    pairs
        How many pairs of pods and nodes a plugin refused within one plan.
    dropped
        How many waiting pods were dropped, since plans evicted others for their sake.
    alike
        Whether all pods that a plan might have evicted counted as equally important.
    in_time
        Whether the optimiser was asked at all.
    """

    plan: pb.Plan
    refusals: tuple[pb.Refusal, ...] = ()
    objections: tuple[str, ...] = ()
    continued: Continued | None = None
    pairs: int = 0
    dropped: int = 0
    alike: bool = False
    in_time: bool = True


@dataclass(slots=True)
class _Ruled:
    """A snapshot, and what was ruled out of it: then it is a copy."""

    snapshot: pb.Snapshot
    copied: bool = False
    forbidden: list[tuple[str, str]] = field(default_factory=list)
    dropped: int = 0
    alike: bool = False


class Proposer:
    """An optimiser, and a scheduler that looks at what it answers.

    Parameters
    ----------
    verifier
        Makes a process of the scheduler for one question.
    limits
        On a plan, by the names that the release has for them.
    never_preempt
        UIDs of the pods for which nobody may be evicted.
    continuing_s
        Says how long the scheduler may go on after a plan that places pods.
    """

    def __init__(
        self,
        verifier: Callable[[], SchedulerVerifier],
        service: RunningService,
        release: Release,
        limits: Mapping[str, int],
        *,
        never_preempt: frozenset[str],
        continuing_s: Callable[[], float],
    ) -> None:
        self._verifier = verifier
        self._service = service
        self._release = release
        self._limits = limits
        self._never_preempt = never_preempt
        self._continuing_s = continuing_s

    def proposal(self, question: Question, snapshot: pb.Snapshot, objective: pb.Objective, part: Part) -> Proposal:
        """Return a plan that stands the scheduler's own rehearsal."""
        objections: list[str] = []
        ruled, last = _Ruled(snapshot), None
        for _ in range(REHEARSALS):
            time_s = part.solve_s()
            if time_s is None:
                break
            last = self._solved(ruled.snapshot, self._options(objective, time_s))
            judged = self._judged(question, ruled, last.plan)
            if judged is None or judged.of_plans[0].accepted:
                return Proposal(
                    last.plan,
                    tuple(last.refusals),
                    tuple(objections),
                    continued=None if judged is None else judged.continued,
                    pairs=len(ruled.forbidden),
                    dropped=ruled.dropped,
                    alike=ruled.alike,
                )
            (said,) = judged.of_plans
            objections.append(said.detail)
            if not self._rule_out(ruled, last.plan, said):
                break
        # No pod moves: that is always allowed.
        return Proposal(
            pb.Plan(),
            tuple(last.refusals) if last else (),
            objections=tuple(objections),
            pairs=len(ruled.forbidden),
            in_time=last is not None,
        )

    def without_limits(self, snapshot: pb.Snapshot, part: Part) -> pb.Plan | None:
        """Return a plan that nobody looked at, with as many moves as it likes.

        There is none where no time is left.
        """
        time_s = part.solve_s()
        if time_s is None:
            return None
        options = pb.SolveOptions(time_limit_s=time_s, policy=policy_of(self._release))
        return self._solved(snapshot, options).plan

    def _judged(self, question: Question, ruled: _Ruled, plan: pb.Plan) -> Judgement | None:
        """Return the scheduler's judgement; ``None`` where a plan changes nothing."""
        if not (plan.placements or plan.moves or plan.evictions):
            return None
        asked = replace(
            question,
            forbidden=tuple(ruled.forbidden),
            plans=(plan,),
            continue_s=0.0 if question.consolidates else self._continuing_s(),
        )
        with self._verifier() as verifier:
            return verifier.judge(asked)

    def _rule_out(self, ruled: _Ruled, plan: pb.Plan, said: PlanJudgement) -> bool:
        """Rule out what was refused; return whether that changes anything."""
        if not ruled.copied:
            own = pb.Snapshot()
            own.CopyFrom(ruled.snapshot)
            ruled.snapshot, ruled.copied = own, True
        if said.reason == UNJUST_EVICTION:
            return self._spare(ruled, plan)
        if said.reason == LIMIT:
            for pod in ruled.snapshot.pods:
                if pod.uid in said.pods:
                    pod.movable, pod.immovable_reason = False, said.detail
            return bool(said.pods)
        pairs = _pairs(ruled.snapshot, plan, said.pods)
        classes = {pod.uid: pod.class_id for pod in ruled.snapshot.pods}
        for uid, _, node in pairs:
            ruled.snapshot.forbidden_pairs.add(class_id=classes[uid], node=node)
        ruled.forbidden += [(name, node) for _, name, node in pairs]
        return bool(pairs)

    def _spare(self, ruled: _Ruled, plan: pb.Plan) -> bool:
        """See to it that nobody is evicted for a pod that must not preempt.

        If no pod that waits could have others evicted, all that run count as no less
        important than those that wait. Else the pods that the plan places and that must
        not preempt are dropped, as the plugin does.
        """
        if not ruled.alike and _raised(ruled.snapshot, self._never_preempt):
            ruled.alike = True
            return True
        placed = {one.pod_uid for one in plan.placements} & self._never_preempt
        kept = [pod for pod in ruled.snapshot.pods if pod.uid not in placed]
        ruled.dropped += len(placed)
        del ruled.snapshot.pods[:]
        ruled.snapshot.pods.extend(kept)
        return bool(placed)

    def _options(self, objective: pb.Objective, time_s: float) -> pb.SolveOptions:
        return pb.SolveOptions(
            time_limit_s=time_s,
            policy=policy_of(self._release),
            objective=objective,
            max_moves=self._limits.get("maxMoves"),
            max_evictions=self._limits.get("maxEvictions"),
            max_disruptions_per_owner=self._limits.get("maxPerWorkload"),
        )

    def _solved(self, snapshot: pb.Snapshot, options: pb.SolveOptions) -> pb.SolveUpdate:
        request = pb.SolveRequest(snapshot=snapshot, options=options)
        last = self._service.last_answer(request)
        if last.end_reason in (pb.END_REASON_ERROR, pb.END_REASON_INFEASIBLE_INPUT):
            raise no_answer(last.message)
        return last


def policy_of(release: Release) -> pb.Policy:
    """Return the policy of a release; strict, if it names none."""
    return POLICIES.get(release.arguments.get("policy", ""), pb.POLICY_STRICT)


def _pairs(snapshot: pb.Snapshot, plan: pb.Plan, refused: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return which pods were refused where: UID, ``namespace/name`` and node."""
    names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
    targets = {one.pod_uid: one.node for one in plan.placements}
    targets |= {one.pod_uid: one.to_node for one in plan.moves}
    return [(uid, names[uid], targets[uid]) for uid in refused if uid in targets]


def _raised(snapshot: pb.Snapshot, never_preempt: Iterable[str]) -> bool:
    """Make all pods that run as important as the pods that wait, if those are alike.

    Then none is evicted, and all may move. It says the same as the question only where
    one priority waits, and none of its pods may preempt.
    """
    classes = {one.id: one for one in snapshot.pod_classes}
    waiting = [pod for pod in snapshot.pods if not pod.node]
    priorities = {classes[pod.class_id].priority for pod in waiting}
    never = frozenset(never_preempt)
    if len(priorities) != 1 or not all(pod.uid in never for pod in waiting):
        return False
    (highest,) = priorities
    for one in snapshot.pod_classes:
        # No pod of such a class waits.
        one.priority = max(one.priority, highest)
    return True
