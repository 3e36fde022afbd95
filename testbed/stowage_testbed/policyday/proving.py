"""How many nodes of a state could be emptied at most, by the optimiser's bound."""

from __future__ import annotations

from dataclasses import replace

from stowage_testbed.api.label_selector import both
from stowage_testbed.defragment.asking import defragmentation_of
from stowage_testbed.defragment.options import Options
from stowage_testbed.policyday.policy import Policy
from stowage_testbed.policyday.state import State, pods_as_they_may_move
from stowage_testbed.simulate import find_profile
from stowage_testbed.whatif.asking import PlanLimits
from stowage_testbed.whatif.inventory import inventory_of
from stowage_testbed.whatif.release import release_of

PROFILE = "deterministic"
"""Without preemption, as plans are judged."""


class Prover:
    """Asks for the bound as ``stowage defragment`` does, within what a policy allows.

    Pods that cool down when the window opens stay. The least gain is left aside: the
    bound holds with and without it.

    Parameters
    ----------
    time_limit_s
        For each state.
    """

    def __init__(self, policy: Policy, time_limit_s: float) -> None:
        release = release_of(None)
        own = release.schedulers[-1]
        if policy.schedulers:
            release = replace(release, schedulers=policy.schedulers)
        if policy.namespaces:
            theirs = release.arguments.get("namespaceSelector") or {}
            selector = both(theirs, policy.namespaces)
            arguments = {**release.arguments, "namespaceSelector": selector}
            release = replace(release, arguments=arguments)
        limits = PlanLimits(time_limit_s, policy.max_moves, release)
        self._options = Options(limits, own, nodes=policy.nodes)

    def __call__(self, state: State) -> int | None:
        """Return the most nodes that could be emptied; None if there are no pods.

        Raises
        ------
        StowageError
            The scheduler cannot read the objects, or the optimiser failed.
        """
        if not state["pods"]:
            return None
        objects = [
            {**one, "kind": kind}
            for kind, all_ in (
                ("Node", state["nodes"]),
                ("Pod", pods_as_they_may_move(state)),
                ("PodDisruptionBudget", state["disruptionBudgets"]),
            )
            for one in all_
        ]
        inventory = inventory_of(objects)
        found = defragmentation_of(inventory, find_profile(PROFILE), self._options)
        return found.before.nodes - found.least.nodes if found.least.nodes else None
