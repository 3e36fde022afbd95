"""Steps that create pods one by one, when they are to come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import repeat

from stowage_testbed.base.errors import StowageError
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.pacing import Due, Pacer
from stowage_testbed.scenario.manifests import make_bare_pod
from stowage_testbed.scenario.model import Workload
from stowage_testbed.scenario.steps.arriving import Burst, Replay


def burst(context: StepContext, step: Burst) -> None:
    """Create pods like a workload's, at the times that the process draws."""
    workload = context.existing_workload(step.workload)
    at_once = step.arrival.process == "at-once"
    _create(context, _make_burst_dues(context, step, workload), paced=not at_once)
    context.made[step.workload] += step.pods


def replay(context: StepContext, step: Replay) -> None:
    """Create the pods of a trace when they came."""
    _create(context, _make_replay_dues(context, step), paced=True)


def _make_burst_dues(
    context: StepContext, step: Burst, workload: Workload
) -> Iterator[Due]:
    count, first = step.pods, context.made[workload.name]
    lifetimes = step.lifetime.draws_s(count) if step.lifetime else repeat(None, count)
    pairs = zip(step.arrival.times_s(count), lifetimes, strict=True)
    for number, (at_s, lifetime_s) in enumerate(pairs, start=first):
        name = f"{workload.name}-{number:05}"
        manifest = make_bare_pod(workload, name, context.namespace, lifetime_s)
        yield Due(at_s, name, partial(context.create, manifest))


def _make_replay_dues(context: StepContext, step: Replay) -> Iterator[Due]:
    for pod in step.pods:
        workload = Workload(
            name=pod.owner,
            replicas=0,
            requests=pod.template.requests,
            priority=pod.template.priority,
        )
        manifest = make_bare_pod(workload, pod.name, context.namespace, pod.lifetime_s)
        yield Due(pod.at_s, pod.name, partial(context.create, manifest))


def _create(context: StepContext, dues: Iterable[Due], *, paced: bool) -> None:
    allowed_s = context.timeout_s()

    def too_late(pod: str, late_s: float) -> StowageError:
        return StowageError(
            f"pod {pod} was {late_s:.1f} s late, {allowed_s:g} s are allowed: the API "
            "server does not keep up; lower the rate or the speed, or raise the "
            "deadline of the step under `timeouts`"
        )

    pacer = Pacer(context.run.observer.clock, allowed_s, too_late)
    pacing = pacer.run(dues)
    context.facts["pods"] = pacing.done
    if not paced:
        return
    context.facts |= {"late": pacing.late, "latest_s": round(pacing.latest_s, 3)}
    if pacing.late:
        context.recorder.report(
            f"{pacing.late} of {pacing.done} pods came late, by "
            f"{pacing.latest_s:.2f} s at most"
        )
