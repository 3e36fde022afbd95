"""Random clusters that have been filled by the scheduler and have aged since."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.agreement.ageing import age
from stowage_testbed.agreement.demands import add_demands
from stowage_testbed.agreement.draft import Draft, named
from stowage_testbed.agreement.families import FAMILIES
from stowage_testbed.agreement.protections import protect_some
from stowage_testbed.agreement.volumes import add_volumes
from stowage_testbed.simulate import NO_PROTECTION, Question, Simulator

STRICT_SHARE = 0.8
MOST_FORBIDDEN = 3


def random_cluster(name: str, rng: Random, simulator: Simulator) -> Question:
    """Return a cluster as a question that has no plans yet.

    Parameters
    ----------
    name
        Names the instance, and the snapshot with it.
    rng
        Source of every random choice.
    simulator
        Fills the cluster, so that no pod runs where it was never allowed.
    """
    draft = rng.choice(FAMILIES)(rng)
    add_demands(rng, draft)
    add_volumes(rng, draft)
    rng.shuffle(draft.pods)
    _fill(draft, name, simulator)
    protect_some(rng, draft)
    age(rng, draft)
    return Question(
        draft.instance(name),
        policy=pb.POLICY_STRICT if rng.random() < STRICT_SHARE else pb.POLICY_PAPER,
        forbidden=_forbidden(rng, draft),
        # Small workloads without a kubelet: hardly any pod could move.
        arguments=NO_PROTECTION,
    )


def _fill(draft: Draft, name: str, simulator: Simulator) -> None:
    """Let the scheduler place the pods in their order, whatever their priorities.

    Among pods of several priorities that it wakes up again, the order would depend on
    the time.
    """
    equals = tuple(
        {**pod, "spec": {**pod["spec"], "priority": 0}} for pod in draft.pods
    )
    nodes = simulator.place(replace(draft.instance(name), pods=equals)).nodes
    for pod in draft.pods:
        node = nodes[named(pod)]
        if node:
            pod["spec"]["nodeName"] = node
            pod["status"] = {"phase": "Running"}


def _forbidden(rng: Random, draft: Draft) -> tuple[tuple[str, str], ...]:
    if not draft.pods:
        return ()
    return tuple(
        (named(rng.choice(draft.pods)), rng.choice(draft.nodes)["metadata"]["name"])
        for _ in range(rng.randrange(MOST_FORBIDDEN))
    )
