"""One try of one fault: its moment, and the recovery. The cluster is empty before and after."""

import random
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.faults.cluster import KINDS, FaultCluster
from benchmarks.faults.context import Fault, FaultContext, FaultSettings
from benchmarks.faults.trial import STAGES, Seen, Trial, begin_try, end_try
from stowage_testbed.invariants.reserved import kept_out
from stowage_testbed.observe.change import Receipt, uid_of
from stowage_testbed.observe.condition import (
    Condition,
    ConditionResult,
    UnreachableStateError,
    plan_finished,
    plans_in_words,
    pods_in_words,
)
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.observe.state import State
from stowage_testbed.run.execution import Harness
from stowage_testbed.run.listener import Listener, RunRecorder
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.model import Scenario, make_steps
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.applying import Apply, ApplyInTurn
from stowage_testbed.scenario.steps.context import StepContext
from stowage_testbed.scenario.steps.releasing import make_manual_plan

COOL_DOWN_S = 60
"""The chart's default: how long a workload is left alone after one of its pods was moved."""
QUIET_MARGIN_S = 0.7
"""Beyond the settle time, so that a plan that is to come shows itself."""


class Attempt(Harness, Listener):
    """Carries one try out: the steps, and the fault after those that bring pods.

    Everything drawn comes from the try's number, the suite's seed and the fault's
    name. The evidence of a try that fails goes to a folder of results.
    """

    # What a fault makes of the release is what is tried.
    is_supervised = False
    is_released = False
    is_judged = False

    def __init__(self, cluster: FaultCluster, fault: Fault, number: int, seed: int, results: Path) -> None:
        self._run = cluster.run
        self._settings, scenario = fault.settings, fault.scenario
        self._scenario = replace(scenario, steps=bringing_steps(scenario))
        self._number = number
        self._seed = seed
        self._results = results
        release = cluster.release_for(fault)
        self._seen = begin_try(cluster.run, self._scenario, release, self._settings.do)
        self._settled: Collection[str] = ()
        self._context: FaultContext
        self._trial: Trial

    def run(self) -> Trial:
        """Try it and clear the cluster; what goes wrong is part of the trial."""
        run_scenario(self._run, self._scenario, self._number, self, self)
        with self._fault_context(self._seen) as context:
            KINDS[context.settings.do].after(context)
        return self._trial

    @contextmanager
    def serving(self, namespace: str, recorder: RunRecorder) -> Iterator[None]:
        """Have a fault ready; the release that it needs serves already."""
        del recorder
        self._seen.namespace = namespace
        with self._fault_context(self._seen) as self._context:
            yield

    def before(self, context: StepContext, step: Step) -> None:
        """Prepare the fault before the last pods come."""
        if step != self._scenario.steps[-1]:
            return
        KINDS[self._context.settings.do].before(self._context)
        self._settled = self._run.observer.read(lambda state: {p.uid for p in state.pods(context.namespace) if p.bound})

    def after(self, context: StepContext, step: Step) -> None:
        """Let the fault happen when its moment comes, and wait for the recovery."""
        if step != self._scenario.steps[-1]:
            return
        fault, seen = self._context, self._seen
        if self._moment_comes():
            fault.clock.pause(fault.rng.uniform(*fault.settings.after_s))
            seen.injected = self._now()
            KINDS[fault.settings.do].inject(fault)
            fault.clock.pause(fault.rng.uniform(*fault.settings.lasts_s))
            fault.end_fault()
            seen.ended = self._now()
        self._await_recovery()
        self._ask_again()

    def scenario_finished(self, outcome: ScenarioOutcome, records: RunRecorder) -> None:
        """Take the records, and make the trial of them."""
        self._seen.error = outcome.error
        self._seen.changes += records.changes()
        self._trial = end_try(self._run, self._seen, self._number, self._seed, self._results)

    @contextmanager
    def _fault_context(self, seen: Seen) -> Iterator[FaultContext]:
        rng = random.Random(  # noqa: S311 - to be repeated, not to be secret
            f"{self._seed}/{self._scenario.scenario_id}/{self._number}"
        )
        context = FaultContext(
            run=self._run,
            namespace=seen.namespace,
            release=seen.release,
            scenario=self._scenario,
            settings=self._settings,
            rng=rng,
            facts=seen.facts,
        )
        try:
            yield context
        finally:
            # Also when something else went wrong: nothing may stay stopped or barred.
            context.end_fault()

    def _moment_comes(self) -> bool:
        """Wait for the moment of the fault; return whether it came."""
        fault = self._context
        try:
            self._run.observer.wait_for(
                f"the moment of the fault ({fault.settings.at})",
                moment_of(fault.settings, fault.namespace, self._settled),
                timeout_s=timeouts.plan_s(self._scenario),
            )
        except UnreachableStateError:
            return False
        return True

    def _await_recovery(self) -> None:
        fault = self._context
        self._run.observer.wait_for(
            "the cluster to recover",
            recovered(fault.namespace, fault.release.namespace),
            timeout_s=timeouts.plan_s(self._scenario) + COOL_DOWN_S,
            quiet_s=self._scenario.optimizer.settle_s + QUIET_MARGIN_S,
            quiet_kinds=("Pod", "PackingPlan"),
            quiet_after=self._seen.ended,
        )

    def _ask_again(self) -> None:
        """Ask for a second plan where nothing better can exist."""
        plans = self._run.observer.read(lambda state: state.plans())
        if plans and plans[-1].optimal:
            plan = make_manual_plan({"generateName": "manual-"}, time_limit_s=self._scenario.optimizer.time_limit_s)
            name, observer = self._run.objects.create(plan)["metadata"]["name"], self._run.observer
            limit_s = timeouts.plan_s(self._scenario)
            observer.wait_for(f"the manual plan {name} to finish", plan_finished(name), timeout_s=limit_s)
            second = observer.read(lambda state: next(one for one in state.plans() if one.name == name))
            self._await_recovery()
            self._seen.second_plan = second.moves + second.evictions

    def _now(self) -> Receipt:
        return self._run.observer.clock.now()


def bringing_steps(scenario: Scenario) -> tuple[Step, ...]:
    """Return the steps until the last pods come, which a plan is made for.

    Of workloads that come in turn the last is a step of its own.
    """
    steps = scenario.steps
    last = max(n for n, one in enumerate(steps) if isinstance(one.action, Apply))
    action = steps[last].action
    before = [one.action for one in steps[:last]]
    if isinstance(action, ApplyInTurn):
        return make_steps((*before, ApplyInTurn(action.names[:-1]), Apply(action.names[-1:])))
    return steps[: last + 1]


def moment_of(settings: FaultSettings, namespace: str, settled: Collection[str]) -> Condition:
    """Hold at the fault's moment; say that it is missed once the plan is over.

    ``settled`` are UIDs of the pods that had a node before anything was planned.
    """

    def condition(state: State) -> ConditionResult:
        plans = state.plans()
        come = _has_come(settings, state, namespace, settled)
        over = bool(plans) and plans[-1].finished and not plans[-1].broken
        missed = over and not come and settings.at != "unschedulable"
        words = plans_in_words(plans)
        return ConditionResult(come, words, error=f"it is over: {words}" if missed else "")

    return condition


def _has_come(settings: FaultSettings, state: State, namespace: str, settled: Collection[str]) -> bool:
    match settings.at:
        case "unschedulable":
            return any(pod.unschedulable for pod in state.pods(namespace))
        case "evicted":
            left = set(settled) - {pod.uid for pod in state.pods(namespace)}
            return len(left) >= settings.count
        case "arrived":
            new = [pod for pod in state.pods(namespace) if pod.uid not in settled]
            return sum(pod.bound for pod in new) >= settings.count
        case at:
            return any(_is_at(plan, at.capitalize()) for plan in state.plans())


def _is_at(plan: ObservedPlan, stage: str) -> bool:
    """Return whether a plan that lives has come so far, or farther."""
    return plan.phase in STAGES[STAGES.index(stage) :]


def recovered(namespace: str, release_namespace: str) -> Condition:
    """Hold when every pod exists and is placed as well as possible.

    Every controller has the pods it wants, each of them is bound or refused, no plan is active, no pod is kept out by
    room of one that has ended, and for pods without a node no other plan is to be expected. Plans that failed or were
    given up do not matter. The pods of the release must be ready.
    """

    def condition(state: State) -> ConditionResult:
        pods, plans = state.pods(namespace), state.plans()
        wanted = _wanted(state, namespace)
        serving = all(pod.live and pod.ready for pod in state.all_pods(release_namespace))
        leaving = len(state.all_pods(namespace)) != len(pods)
        decided = all(pod.bound or pod.unschedulable for pod in pods)
        conclusive = all(pod.bound for pod in pods) or (
            bool(plans) and plans[-1].conclusive and not _is_cooling_down(state, plans[-1])
        )
        held = list(kept_out(state.all_pods(namespace), state.bodies("Reservation"), state.bodies("PackingPlan")))
        settled = serving and decided and not leaving and len(pods) == wanted
        done = all(plan.finished for plan in plans) and conclusive
        words = (
            f"{pods_in_words(pods, wanted)}; {plans_in_words(plans)}; the release is {'' if serving else 'not '}ready; "
            f"{len(held)} pods wait for room that is not held"
        )
        return ConditionResult(settled and done and not held, words)

    return condition


def _is_cooling_down(state: State, plan: ObservedPlan) -> bool:
    """Return whether the plan left pods aside that may move again soon: the scheduler then asks once more."""
    bodies = (body for body in state.bodies("PackingPlan") if uid_of(body) == plan.uid)
    protected = (one for body in bodies for one in (body.get("status") or {}).get("protected") or ())
    return any(one["reason"] == "cooling-down" and one.get("inTheWayOf") for one in protected)


def _wanted(state: State, namespace: str) -> int:
    """Return how many pods there should be: those of controllers, and bare ones."""
    sets, pods = (
        [body for body in state.bodies(kind, namespace) if not body["metadata"].get("deletionTimestamp")]
        for kind in ("ReplicaSet", "Pod")
    )
    asked = sum(int((body.get("spec") or {}).get("replicas") or 0) for body in sets)
    return asked + sum(not read_pod(body).owner_kind for body in pods)
