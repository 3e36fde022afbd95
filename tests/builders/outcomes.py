"""Builders of outcomes for tests of the run and of its reports."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from amounts import GPU, asked, size, taken

from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.observe.audit import BEGINNING
from stowage_testbed.observe.change import Receipt, Window
from stowage_testbed.observe.plan import ObservedPlan, read_plan
from stowage_testbed.report.bundle import Bundle
from stowage_testbed.run.listener import RunRecorder
from stowage_testbed.run.outcome import (
    CheckpointResult,
    RunOutcome,
    ScenarioOutcome,
    StepRecord,
    find_divergences,
    make_checkpoint,
    make_latency,
    make_outcome,
)
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.model import AFTER, BEFORE, Scenario, Workload, imply_steps
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.arriving import Burst
from stowage_testbed.scenario.steps.checking import END

GB = 10**9
POOL = NodePool("n", 2, size(1000, 4 * GB))
PASSED = CheckResult("placed", True, "2", "2")
FAILED = CheckResult("placed", False, "3", "2", "pod c is pending")


def a_state(nodes: Mapping[str, Sequence[str]], gpus: int = 0) -> ClusterState:
    """Return a state in which each workload's pods stand on these nodes.

    The second node has GPUs, if any are asked for, and every pod takes one.
    """
    second = NodeState("n2", size(1000, 4 * GB, more={GPU: gpus}))
    requests = taken(100, 2 * GB, {GPU: min(gpus, 1)})
    return ClusterState(
        (NodeState("n1", size(1000, 4 * GB)), second),
        tuple(PodState(workload, place or None, requests) for workload, places in nodes.items() for place in places),
    )


def a_checkpoint(name: str, state: ClusterState, *, is_planned: bool = False) -> CheckpointResult:
    """Return a checkpoint of this state."""
    waited_s = [0.001 * number for number in range(1, 11)]
    return make_checkpoint(name, state, make_latency(waited_s, [0.002, 0.005]), 1.5, is_planned=is_planned)


def an_outcome(
    *,
    name: str = "paper/figure-1",
    variant: str | None = None,
    nodes: Mapping[str, Sequence[str]] | None = None,
    after: Mapping[str, Sequence[str]] | None = None,
    checks: tuple[CheckResult, ...] = (PASSED,),
    gpus: int = 0,
    settled: bool = True,
    path: Path | None = None,
    **more: Any,
) -> ScenarioOutcome:
    """Return the outcome of a small scenario; `nodes` maps workloads to nodes."""
    nodes = nodes or {"a": ["n1"], "b": ["n2"]}
    pods = asked(100, 2 * GB)
    workload = tuple(Workload(one, len(on), requests=pods) for one, on in nodes.items())
    scenario = Scenario(
        name=name,
        description="Two pods.",
        nodes=(POOL,),
        workload=workload,
        variant=variant,
        steps=imply_steps(workload),
        path=path,
    )
    states = {BEFORE: a_state(nodes, gpus)} if settled else {}
    if after:
        states[AFTER] = a_state(after, gpus)
    return make_outcome(
        scenario,
        checkpoints=tuple(a_checkpoint(name, state, is_planned=name == AFTER) for name, state in states.items()),
        states=states,
        checks=checks if settled else (),
        durations_s={BEFORE: 1.5},
        **{"repeat": 1, **more},
    )


def a_stepped_outcome(
    *,
    nodes: Mapping[str, Sequence[str]] | None = None,
    facts: Mapping[str, float] | None = None,
    error: str = "",
    path: Path | None = None,
    **more: Any,
) -> ScenarioOutcome:
    """Return the outcome of a scenario with one step, a burst."""
    step = Step(1, 12, Burst("web", 2))
    scenario = Scenario(
        name="burst/small",
        description="Pods come.",
        nodes=(POOL,),
        workload=(Workload("web", 0, requests=asked(100, 2 * GB)),),
        steps=(step,),
        path=path,
    )
    state = a_state(nodes or {"web": ["n1", ""]})
    return make_outcome(
        scenario,
        steps=(StepRecord(step.number, step.kind, step.line, step.action.in_words(), 0.5, facts or {}, error),),
        checkpoints=(a_checkpoint(END, state),),
        states={END: state},
        window=Window(Receipt(10**9, 0), Receipt(3 * 10**9, 0)),
        error=error,
        durations_s={END: 2.0},
        **{"repeat": 1, "checks": (PASSED,), **more},
    )


def a_run(*outcomes: ScenarioOutcome, error: str = "") -> RunOutcome:
    """Return a run with these outcomes."""
    return RunOutcome(
        run="20260101-000000-ab12",
        started="2026-01-01T00:00:00+00:00",
        cluster="run-ab12",
        scenarios=outcomes,
        divergences=find_divergences(outcomes),
        durations_s={"cluster up": 4.0, "scenarios": 2.0},
        error=error,
    )


def a_plan(name: str = "plan-1") -> ObservedPlan:
    """Return a plan with one move."""
    tier = {"priority": 0, "placedBefore": 2, "placed": 3, "upperBound": 3}
    status = {"phase": "Completed", "optimal": True, "endReason": "OPTIMAL"}
    more = {"moves": [{"pod": "ns/a"}], "tiers": [{**tier, "optimal": True}]}
    return read_plan(
        {
            "metadata": {"uid": f"uid-{name}", "name": name},
            "spec": {"trigger": "OnUnschedulable", "executionMode": "Execute"},
            "status": {**status, **more},
        }
    )


def some_records(audit_log: Path, **bodies: Sequence[Mapping[str, Any]]) -> RunRecorder:
    """Return what was recorded of a scenario in which little happened."""
    records = SimpleNamespace(
        changes=tuple,
        bodies=lambda kind: bodies.get(kind, ()),
        log_texts=lambda: {"deterministic-scheduler": "one line\n"},
        audit_log=audit_log,
        audit_start=BEGINNING,
        values={"deterministic": {"profile": "deterministic"}},
        scheduler_configs={"deterministic": "kind: KubeSchedulerConfiguration\n"},
    )
    return cast("RunRecorder", records)


def saved_bundle(folder: Path, run: RunOutcome, environment: Mapping[str, Any] | None = None) -> Path:
    """Write a run's bundle as `stowage run` does, and return its folder."""
    bundle = Bundle(folder, run.run, environment or {})
    bundle.run_started(run.run, len(run.scenarios))
    for outcome in run.scenarios:
        bundle.scenario_finished(outcome, some_records(folder / "audit.log"))
    bundle.finish(run)
    return bundle.folder
