"""One turn: large pods need a plan, something happens, and all must be well again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.soak.happenings import FAULTS, ORDINARY
from benchmarks.soak.world import LARGE, NAMESPACE, World
from stowage_testbed.faults.errors import NothingToHitError
from stowage_testbed.faults.evidence import keep_evidence
from stowage_testbed.faults.ground import Ground
from stowage_testbed.faults.judging import Seen, judged, restarts
from stowage_testbed.faults.kinds import KINDS
from stowage_testbed.faults.recovery import recovered
from stowage_testbed.faults.trial import Trial
from stowage_testbed.observe.audit import AuditReader, audit_end, audit_entries
from stowage_testbed.observe.errors import NotSettledError
from stowage_testbed.observe.state import State
from stowage_testbed.observe.verdict import Verdict
from stowage_testbed.run.problem import problem_of
from stowage_testbed.scenario.model import FaultSettings, Scenario

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
    world
        Where.
    number, seed
        Which turn of which soak.
    results
        Folder for the evidence of a turn that fails.
    """

    world: World
    number: int
    seed: int
    results: Path

    def run(self) -> Trial:
        """Let things happen, judge, and put the world back."""
        world, chance = self.world, self.world.chance
        ordinary = chance.choice(sorted(ORDINARY))
        fault = chance.choice(FAULTS) if chance.random() < FAULT_SHARE else "nothing"
        seen = self._begin(ordinary, fault)
        audit = world.bench.cluster.audit_log
        start = audit_end(audit)
        ground = self._ground(seen)
        seen.error = problem_of(lambda: self._happen(ground, seen, ordinary))
        # Also after an error: nothing may stay stopped or barred.
        not_mended = problem_of(ground.mend)
        seen.error = seen.error or not_mended
        seen.changes += world.bench.observer.take_journal()
        seen.entries = tuple(audit_entries(audit, start))
        trial = judged(world.bench, seen, self.number, self.seed)
        if not trial.passed:
            lines = AuditReader(audit, start).lines()
            keep_evidence(self.results, trial, seen, lines)
        KINDS[fault].after(ground)
        world.restore()
        self._await_recovery()
        return trial

    def _begin(self, ordinary: str, fault: str) -> Seen:
        world = self.world
        observer, name = world.bench.observer, world.release.namespace
        scenario = Scenario(
            name=f"soak/{ordinary}-{fault}",
            description="",
            nodes=(),
            workload=(),
            fault=FaultSettings(fault, "executing"),
        )
        return Seen(
            scenario=scenario,
            release=world.release,
            began=observer.clock.now(),
            restarts=observer.read(lambda state: restarts(state, name)),
            changes=observer.restart_journal(),
            site=world.site,
        )

    def _ground(self, seen: Seen) -> Ground:
        settings, world = seen.scenario.fault, self.world
        assert settings is not None  # noqa: S101 - it was just made
        return Ground(
            world.bench,
            world.site,
            world.release,
            settings,
            world.chance,
            facts=seen.facts,
        )

    def _happen(self, ground: Ground, seen: Seen, ordinary: str) -> None:
        world, clock = self.world, self.world.bench.observer.clock
        fault = KINDS[ground.settings.do]
        fault.before(ground, seen.scenario)
        large = world.chance.randint(1, MOST_LARGE)
        name = world.fresh_name(LARGE.name)
        world.apply(replace(LARGE, name=name, replicas=large))
        self._await_plan()
        ground.clock.pause(world.chance.uniform(0, LONGEST_S))
        ORDINARY[ordinary](world, ground)
        seen.struck = clock.now()
        try:
            fault.strike(ground)
        except NothingToHitError:
            # There was no plan to disturb: the pods found room by themselves.
            seen.struck = None
        ground.clock.pause(world.chance.uniform(0, LONGEST_S))
        ground.mend()
        seen.mended = clock.now()
        self._await_recovery()

    def _await_plan(self) -> None:
        """Wait until a plan is carried out; without one the turn goes on too."""
        try:
            self.world.bench.observer.wait_for(
                "a plan", _plan_executes, timeout_s=PLAN_TIMEOUT_S
            )
        except NotSettledError:
            return

    def _await_recovery(self) -> None:
        world = self.world
        world.bench.observer.wait_for(
            "the cluster to recover",
            recovered(NAMESPACE, world.release.namespace),
            timeout_s=RECOVERY_TIMEOUT_S,
            quiet_s=QUIET_S,
            quiet_kinds=("Pod", "PackingPlan"),
        )


def _plan_executes(state: State) -> Verdict:
    phases = [plan.phase for plan in state.plans()]
    return Verdict("Executing" in phases, f"plans are {phases}")
