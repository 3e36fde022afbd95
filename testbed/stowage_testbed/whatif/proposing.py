"""Plans of an optimiser for a cluster that neither it nor the scheduler touches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import RunningService, no_answer
from stowage_testbed.simulate import Instance, Question, SchedulerVerifier, Verdict

REHEARSALS = 8
"""How often a plan that a plugin refuses is made again, without what it refused."""

BASE_BYTES, BYTES_PER_OBJECT = 200 << 20, 24 << 10
"""Of a scheduler's process, whose garbage would otherwise be four times what it holds.
"""

Search = Callable[[pb.Snapshot], pb.SolveUpdate]
"""Asks the optimiser for a plan."""


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What plans may do, and how long the search for them may take.

    Attributes
    ----------
    max_moves
        Of a plan; ``None`` for any number.
    arguments
        Of the plugin, whose rules say which pods may be disrupted; what is left out has
        its default.
    """

    time_limit_s: float = 10.0
    max_moves: int | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan that every plugin of the scheduler accepts, and the pods left alone."""

    plan: pb.Plan
    refusals: tuple[pb.Refusal, ...]
    objections: tuple[str, ...]


def verifier_of(profile: Path, instance: Instance) -> SchedulerVerifier:
    """Return one for a single question.

    It starts at once, and holds the whole cluster in memory, which the solver and the
    next process of the scheduler want too.
    """
    return SchedulerVerifier(profile, environment=memory_of(instance))


def memory_of(instance: Instance) -> dict[str, str]:
    """Return where a scheduler's process begins to collect garbage in earnest.

    It is a soft limit: whoever needs more gets it, and is slower.
    """
    objects = len(instance.pods) + len(instance.nodes) + len(instance.objects)
    return {"GOMEMLIMIT": str(BASE_BYTES + BYTES_PER_OBJECT * objects)}


def snapshot_of(profile: Path, question: Question) -> pb.Snapshot:
    """Return what the optimiser is told of a cluster."""
    with verifier_of(profile, question.instance) as verifier:
        return verifier.verify(question).snapshot


def changes(plan: pb.Plan) -> bool:
    """Return whether a plan does anything."""
    return bool(plan.placements or plan.moves or plan.evictions)


class Proposing:
    """An optimiser, and a scheduler that looks at what it answers."""

    def __init__(
        self, profile: Path, service: RunningService, limits: PlanLimits
    ) -> None:
        self._profile = profile
        self._service = service
        self._limits = limits

    def solved(
        self,
        snapshot: pb.Snapshot,
        objective: pb.Objective,
        *,
        share: float = 1.0,
        moves_made: int = 0,
    ) -> pb.SolveUpdate:
        """Return the optimiser's last answer, which no scheduler has seen.

        Parameters
        ----------
        share
            Of the time limit.
        moves_made
            What the limit on moves is less by.

        Raises
        ------
        StowageError
            There is none.
        """
        most = self._limits.max_moves
        options = pb.SolveOptions(
            time_limit_s=share * self._limits.time_limit_s,
            policy=pb.POLICY_STRICT,
            objective=objective,
            max_moves=None if most is None else max(0, most - moves_made),
        )
        request = pb.SolveRequest(snapshot=snapshot, options=options)
        last = self._service.last_answer(request)
        if last.end_reason in (pb.END_REASON_ERROR, pb.END_REASON_INFEASIBLE_INPUT):
            raise no_answer(last.message)
        return last

    def proposal(
        self, question: Question, snapshot: pb.Snapshot, search: Search
    ) -> Proposal:
        """Return a plan that stands the scheduler's own rehearsal."""
        objections: list[str] = []
        for _ in range(REHEARSALS):
            last = search(snapshot)
            if not changes(last.plan):
                # The scheduler has nothing to refuse.
                return Proposal(last.plan, tuple(last.refusals), tuple(objections))
            verdict = self._verdict(question, last.plan)
            if verdict.accepted:
                return Proposal(last.plan, tuple(last.refusals), tuple(objections))
            objections.append(verdict.detail)
            pairs = _pairs(snapshot, last.plan, verdict.pods)
            if not pairs:
                break
            question = replace(question, forbidden=(*question.forbidden, *pairs))
            snapshot = snapshot_of(self._profile, question)
        # No pod moves: that is always allowed.
        return Proposal(pb.Plan(), (), tuple(objections))

    def _verdict(self, question: Question, plan: pb.Plan) -> Verdict:
        with verifier_of(self._profile, question.instance) as verifier:
            (verdict,) = verifier.verdicts(replace(question, plans=(plan,)))
        return verdict


def _pairs(
    snapshot: pb.Snapshot, plan: pb.Plan, refused: Sequence[str]
) -> list[tuple[str, str]]:
    """Return which pods were refused where, as ``namespace/name``."""
    names = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in snapshot.pods}
    targets = {one.pod_uid: one.node for one in plan.placements}
    targets |= {one.pod_uid: one.to_node for one in plan.moves}
    return [(names[uid], targets[uid]) for uid in refused if uid in targets]
