"""One try of one fault, from an empty site to an empty site."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.cluster.supervision import PATIENCE_S
from stowage_testbed.ending import await_end
from stowage_testbed.faults.arena import Arena
from stowage_testbed.faults.evidence import keep_evidence
from stowage_testbed.faults.ground import Ground
from stowage_testbed.faults.judging import Seen, judged, restarts
from stowage_testbed.faults.kinds import KINDS
from stowage_testbed.faults.moment import moment_of
from stowage_testbed.faults.recovery import recovered
from stowage_testbed.faults.trial import Trial
from stowage_testbed.observe.audit import AuditReader, audit_end, audit_entries
from stowage_testbed.observe.errors import UnreachableStateError
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.run.manual_plan import carry_out_manual_plan
from stowage_testbed.run.problem import PROBLEMS, in_words
from stowage_testbed.run.site import Site, clear, prepare
from stowage_testbed.run.workload import submit_in_turn
from stowage_testbed.scenario.model import FaultSettings, Scenario, Workload

QUIET_MARGIN_S = 0.7
"""Beyond the settle time, so that a plan that is to come shows itself."""


@dataclass(slots=True)
class Attempt:
    """Carries one try out.

    Parameters
    ----------
    arena
        Where.
    scenario
        What; it has a fault.
    number, seed
        Which try of the suite; everything drawn comes from the two and the name.
    results
        Folder for the evidence of a try that fails.
    """

    arena: Arena
    scenario: Scenario
    number: int
    seed: int
    results: Path

    def run(self) -> Trial:
        """Try it and clear the site; what goes wrong is part of the trial."""
        bench, seen = self.arena.bench, self._begin()
        audit_start = audit_end(bench.cluster.audit_log)
        try:
            seen.site = prepare(bench, self.scenario, self.number)
            with self._ground(seen) as ground:
                self._go_through(ground, seen)
                self._ask_again(ground, seen)
        except PROBLEMS as problem:
            seen.error = in_words(problem)
        if seen.error:
            await_end(PATIENCE_S)
        seen.changes += bench.observer.take_journal()
        seen.entries = tuple(audit_entries(bench.cluster.audit_log, audit_start))
        trial = judged(bench, seen, self.number, self.seed)
        if not trial.passed:
            log = AuditReader(bench.cluster.audit_log, audit_start)
            keep_evidence(self.results, trial, seen, log.lines())
        clear(bench, self.scenario, self.number)
        with self._ground(seen) as ground:
            KINDS[self._fault.do].after(ground)
        return trial

    def _begin(self) -> Seen:
        observer = self.arena.bench.observer
        release = self.arena.release_for(self.scenario)
        return Seen(
            scenario=self.scenario,
            release=release,
            began=observer.clock.now(),
            restarts=observer.read(lambda state: restarts(state, release.namespace)),
            changes=observer.restart_journal(),
        )

    @property
    def _fault(self) -> FaultSettings:
        fault = self.scenario.fault
        assert fault is not None  # noqa: S101 - the release was made for it
        return fault

    @contextmanager
    def _ground(self, seen: Seen) -> Iterator[Ground]:
        chance = random.Random(  # noqa: S311 - to be repeated, not to be secret
            f"{self.seed}/{self.scenario.scenario_id}/{self.number}"
        )
        ground = Ground(
            bench=self.arena.bench,
            site=seen.site or Site("", ()),
            release=seen.release,
            settings=self._fault,
            chance=chance,
            facts=seen.facts,
        )
        try:
            yield ground
        finally:
            # Also when something else went wrong: nothing may stay stopped or barred.
            ground.mend()

    def _go_through(self, ground: Ground, seen: Seen) -> None:
        kind, fault = KINDS[self._fault.do], self._fault
        first, last = self._before_and_after()
        submit_in_turn(self.arena.bench, self.scenario, ground.site, first)
        kind.before(ground, self.scenario)
        if self._comes(ground, last):
            ground.clock.pause(ground.chance.uniform(*fault.after_s))
            seen.struck = self._now()
            kind.strike(ground)
            ground.clock.pause(ground.chance.uniform(*fault.lasts_s))
            ground.mend()
            seen.mended = self._now()
        self._await_recovery(ground, seen)

    def _before_and_after(self) -> tuple[Sequence[Workload], Sequence[Workload]]:
        """Return what is there before anything is planned, and what is planned for."""
        workload = self.scenario.workload
        first = 0 if self.scenario.arrival == "burst" else len(workload) - 1
        return workload[:first], workload[first:]

    def _comes(self, ground: Ground, last: Sequence[Workload]) -> bool:
        """Bring in the rest, and wait for the moment; tell whether it came."""
        bench, scenario = self.arena.bench, self.scenario
        settled = bench.observer.read(
            lambda state: {p.uid for p in state.pods(ground.namespace) if p.bound}
        )
        for workload in last:
            ground.apply(workload)
        try:
            bench.observer.wait_for(
                f"the moment of the fault ({self._fault.at})",
                moment_of(self._fault, ground.namespace, settled),
                timeout_s=bench.timeouts.plan_s(scenario),
            )
        except UnreachableStateError:
            return False
        return True

    def _await_recovery(self, ground: Ground, seen: Seen) -> None:
        bench = self.arena.bench
        bench.observer.wait_for(
            "the cluster to recover",
            recovered(ground.namespace, ground.release.namespace),
            timeout_s=bench.timeouts.plan_s(self.scenario),
            quiet_s=self.scenario.optimizer.settle_s + QUIET_MARGIN_S,
            quiet_kinds=("Pod", "PackingPlan"),
            quiet_after=seen.mended,
        )

    def _ask_again(self, ground: Ground, seen: Seen) -> None:
        """Ask for a second plan where nothing better can exist."""
        bench = self.arena.bench
        plans = bench.observer.read(lambda state: state.plans())
        if plans and plans[-1].optimal:
            second = carry_out_manual_plan(bench, self.scenario)
            self._await_recovery(ground, seen)
            seen.second_plan = second.moves + second.evictions

    def _now(self) -> Receipt:
        return self.arena.bench.observer.clock.now()
