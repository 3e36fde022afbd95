"""One turn: large pods need a plan, something happens, and the cluster must recover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults.context import FaultContext, NothingToHitError
from benchmarks.faults.kinds import KINDS
from benchmarks.faults.moment import recovered
from benchmarks.faults.settings import FaultSettings
from benchmarks.faults.trial import Seen, Trial, begin_try, end_try
from benchmarks.soak.cluster import NAMESPACE, SoakCluster
from benchmarks.soak.events import ORDINARY
from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.observe.state import State
from stowage_testbed.run.problem import catch_problem
from stowage_testbed.scenario.model import Scenario

MOST_LARGE = 5
LONGEST_S = 5.0
FAULT_SHARE = 0.6
"""How many turns have a fault besides what is ordinary."""

PLAN_TIMEOUT_S = 15.0
RECOVERY_TIMEOUT_S = 180.0
QUIET_S = 3.0


@dataclass(slots=True)
class Turn:
    """Carries one turn out.

    Parameters
    ----------
    soak_cluster
        Where.
    number, seed
        Which turn of which soak.
    faults
        Those of which it may have one.
    results
        Folder for the evidence of a turn that fails.
    """

    soak_cluster: SoakCluster
    number: int
    seed: int
    faults: Sequence[str]
    results: Path

    def run(self) -> Trial:
        """Let things happen, check, and put the cluster back."""
        soak_cluster, rng = self.soak_cluster, self.soak_cluster.rng
        ordinary = rng.choice(sorted(ORDINARY))
        fault = rng.choice(self.faults) if rng.random() < FAULT_SHARE else "nothing"
        seen = self._begin(ordinary, fault)
        context = self._fault_context(seen)
        seen.error = catch_problem(lambda: self._happen(context, seen, ordinary))
        # Also after an error: nothing may stay stopped or barred.
        not_ended = catch_problem(context.end_fault)
        seen.error = seen.error or not_ended
        trial = end_try(soak_cluster.run, seen, self.number, self.seed, self.results)
        KINDS[fault].after(context)
        soak_cluster.restore()
        self._await_recovery()
        soak_cluster.crowd()
        return trial

    def _begin(self, ordinary: str, fault: str) -> Seen:
        scenario = Scenario(
            name=f"soak/{ordinary}-{fault}",
            description="",
            nodes=(),
            workload=(),
        )
        release = self.soak_cluster.release
        seen = begin_try(self.soak_cluster.run, scenario, release, fault)
        seen.environment = self.soak_cluster.environment
        return seen

    def _fault_context(self, seen: Seen) -> FaultContext:
        soak_cluster = self.soak_cluster
        return FaultContext(
            soak_cluster.run,
            soak_cluster.environment,
            soak_cluster.release,
            seen.scenario,
            FaultSettings(seen.fault, "executing"),
            soak_cluster.rng,
            facts=seen.facts,
        )

    def _happen(self, context: FaultContext, seen: Seen, ordinary: str) -> None:
        soak_cluster, clock = self.soak_cluster, self.soak_cluster.run.observer.clock
        fault = KINDS[context.settings.do]
        fault.before(context)
        replicas = soak_cluster.rng.randint(1, MOST_LARGE)
        name = soak_cluster.fresh_name("large")
        soak_cluster.apply(soak_cluster.large(name, replicas))
        self._await_plan()
        context.clock.pause(soak_cluster.rng.uniform(0, LONGEST_S))
        ORDINARY[ordinary](soak_cluster, context)
        seen.injected = clock.now()
        try:
            fault.inject(context)
        except NothingToHitError:
            # There was no plan to hit: the pods found room by themselves.
            seen.injected = None
        context.clock.pause(soak_cluster.rng.uniform(0, LONGEST_S))
        context.end_fault()
        seen.ended = clock.now()
        self._await_recovery()

    def _await_plan(self) -> None:
        """Wait until a plan is carried out; without one the turn goes on too."""
        try:
            self.soak_cluster.run.observer.wait_for(
                "a plan", _plan_executes, timeout_s=PLAN_TIMEOUT_S
            )
        except WaitTimeoutError:
            return

    def _await_recovery(self) -> None:
        soak_cluster = self.soak_cluster
        soak_cluster.run.observer.wait_for(
            "the cluster to recover",
            recovered(NAMESPACE, soak_cluster.release.namespace),
            timeout_s=RECOVERY_TIMEOUT_S,
            quiet_s=QUIET_S,
            quiet_kinds=("Pod", "PackingPlan"),
        )


def _plan_executes(state: State) -> ConditionResult:
    phases = [plan.phase for plan in state.plans()]
    return ConditionResult("Executing" in phases, f"plans are {phases}")
