"""One try of one fault; the cluster is empty before it and after it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.cluster.supervision import PATIENCE_S
from stowage_testbed.ending import await_end
from stowage_testbed.faults.cluster import FaultCluster
from stowage_testbed.faults.context import FaultContext
from stowage_testbed.faults.kinds import KINDS
from stowage_testbed.faults.moment import moment_of, recovered
from stowage_testbed.faults.trial import Seen, Trial, begin_try, end_try
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.verdict import UnreachableStateError
from stowage_testbed.run.environment import ScenarioEnvironment, clear, prepare
from stowage_testbed.run.manual_plan import execute_manual_plan
from stowage_testbed.run.problem import PROBLEMS, in_words
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.execution import carry_out
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.applying import Apply

QUIET_MARGIN_S = 0.7
"""Beyond the settle time, so that a plan that is to come shows itself."""


@dataclass(slots=True)
class Attempt:
    """Carries one try out.

    Parameters
    ----------
    cluster
        Where.
    scenario
        What; it has a fault.
    number, seed
        Which try of the suite; everything drawn comes from the two and the name.
    results
        Folder for the evidence of a try that fails.
    """

    cluster: FaultCluster
    scenario: Scenario
    number: int
    seed: int
    results: Path

    def run(self) -> Trial:
        """Try it and clear the cluster; what goes wrong is part of the trial."""
        run = self.cluster.run
        release = self.cluster.release_for(self.scenario)
        seen = begin_try(run, self.scenario, release)
        try:
            seen.environment = prepare(run, self.scenario, self.number)
            with self._fault_context(seen) as context:
                self._go_through(context, seen)
                self._ask_again(context, seen)
        except PROBLEMS as problem:
            seen.error = in_words(problem)
        if seen.error:
            await_end(PATIENCE_S)
        trial = end_try(run, seen, self.number, self.seed, self.results)
        clear(run, self.scenario, self.number)
        with self._fault_context(seen) as context:
            KINDS[context.settings.do].after(context)
        return trial

    @contextmanager
    def _fault_context(self, seen: Seen) -> Iterator[FaultContext]:
        rng = random.Random(  # noqa: S311 - to be repeated, not to be secret
            f"{self.seed}/{self.scenario.scenario_id}/{self.number}"
        )
        context = FaultContext(
            run=self.cluster.run,
            environment=seen.environment or ScenarioEnvironment("", ()),
            release=seen.release,
            scenario=self.scenario,
            rng=rng,
            facts=seen.facts,
        )
        try:
            yield context
        finally:
            # Also when something else went wrong: nothing may stay stopped or barred.
            context.end_fault()

    def _go_through(self, context: FaultContext, seen: Seen) -> None:
        fault = context.settings
        kind = KINDS[fault.do]
        first, last = self._before_and_after()
        steps = StepContext(self.cluster.run, self.scenario, context.environment)
        for step in first:
            carry_out(steps, step)
        kind.before(context)
        if self._comes(context, steps, last):
            context.clock.pause(context.rng.uniform(*fault.after_s))
            seen.injected = self._now()
            kind.inject(context)
            context.clock.pause(context.rng.uniform(*fault.lasts_s))
            context.end_fault()
            seen.ended = self._now()
        self._await_recovery(context, seen)

    def _before_and_after(self) -> tuple[Sequence[Step], Step]:
        """Return what comes before anything is planned, and what is planned for."""
        placing, _ = self.scenario.halves
        applied = [s for s in placing.steps if isinstance(s.action, Apply)]
        return placing.steps[: applied[-1].number - 1], applied[-1]

    def _comes(self, context: FaultContext, steps: StepContext, last: Step) -> bool:
        """Bring in the rest, and wait for the moment; return whether it came."""
        run, scenario = self.cluster.run, self.scenario
        settled = run.observer.read(
            lambda state: {p.uid for p in state.pods(context.namespace) if p.bound}
        )
        carry_out(steps, last)
        try:
            run.observer.wait_for(
                f"the moment of the fault ({context.settings.at})",
                moment_of(context.settings, context.namespace, settled),
                timeout_s=run.timeouts.plan_s(scenario),
            )
        except UnreachableStateError:
            return False
        return True

    def _await_recovery(self, context: FaultContext, seen: Seen) -> None:
        run = self.cluster.run
        run.observer.wait_for(
            "the cluster to recover",
            recovered(context.namespace, context.release.namespace),
            timeout_s=run.timeouts.plan_s(self.scenario),
            quiet_s=self.scenario.optimizer.settle_s + QUIET_MARGIN_S,
            quiet_kinds=("Pod", "PackingPlan"),
            quiet_after=seen.ended,
        )

    def _ask_again(self, context: FaultContext, seen: Seen) -> None:
        """Ask for a second plan where nothing better can exist."""
        run = self.cluster.run
        plans = run.observer.read(lambda state: state.plans())
        if plans and plans[-1].optimal:
            second = execute_manual_plan(run, self.scenario)
            self._await_recovery(context, seen)
            seen.second_plan = second.moves + second.evictions

    def _now(self) -> Receipt:
        return self.cluster.run.observer.clock.now()
