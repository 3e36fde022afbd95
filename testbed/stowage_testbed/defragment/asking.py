"""Asks optimiser and schedulers which nodes could be emptied, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.defragment.answer import Answer
from stowage_testbed.defragment.findings import REHEARSED, Defragmentation
from stowage_testbed.defragment.options import Options
from stowage_testbed.defragment.scope import scope_of
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.simulate import Instance, Question, Simulator
from stowage_testbed.whatif.allowance import Allowance
from stowage_testbed.whatif.asking import new_verifier
from stowage_testbed.whatif.inventory import Inventory
from stowage_testbed.whatif.judged import judged_pods
from stowage_testbed.whatif.proposing import Proposer, policy_of

ID = "defragment"

SOLVING_SHARE = 0.6
"""Of the time, for the plan; the rest is for rehearsing it."""


def defragmentation_of(inventory: Inventory, profile: Path, options: Options) -> Defragmentation:
    """Return which nodes could be emptied.

    Parameters
    ----------
    profile
        A KubeSchedulerConfiguration without preemption.

    Raises
    ------
    StowageError
        The scheduler cannot read the objects, or the optimiser failed.
    """
    objects = len(inventory.nodes) + len(inventory.pods)
    allowance = Allowance(options.limits.time_limit_s, objects)
    release, minor = options.release, inventory.minor
    judged = judged_pods(inventory, release.schedulers)
    instance = Instance(ID, inventory.nodes, judged.pods, inventory.objects, observed=True)
    question = Question(instance, policy=policy_of(release), consolidates=True, arguments=release.arguments)
    with running_service() as service:
        with new_verifier(profile, release, instance, minor) as verifier:
            first = verifier.verify(question)
        reading_s = options.limits.time_limit_s - allowance.left_s()
        scope = scope_of(inventory, first.snapshot, options.nodes)
        proposer = Proposer(
            lambda: new_verifier(profile, release, instance, minor),
            service,
            release,
            options.limits.bounds(),
            never_preempt=judged.never_preempt,
            continuing_s=lambda: 0.0,
        )
        proposal = proposer.proposal(
            question, scope.snapshot, pb.OBJECTIVE_CONSOLIDATE, allowance.part(SOLVING_SHARE, reading_s)
        )
    answer = Answer(inventory, options, first, scope, proposal)
    if answer.certainty == REHEARSED:
        gates = release.feature_gates
        with Simulator(profile, feature_gates=gates, minor=minor) as simulator:
            answer.rehearse(simulator, instance, allowance)
    elif answer.left_out:
        with new_verifier(profile, release, instance, minor) as verifier:
            rest = replace(question, plans=(answer.plan(),))
            (said,) = verifier.judge(rest).of_plans
        if not said.accepted:
            answer.give_up(said.detail)
    return answer.findings()
