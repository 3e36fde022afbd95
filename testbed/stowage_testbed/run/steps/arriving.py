"""Steps that create pods one by one, when they are to come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import repeat

from stowage_testbed.base.errors import StowageError
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.keeping_times import note_lateness, pace
from stowage_testbed.run.steps.pacing import Due
from stowage_testbed.run.steps.replaying import replay_recorded
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
    """Have happen what a trace says, when it happened."""
    if step.recorded is None:
        raise StowageError(f"{step.file} was not read; load the scenario from its file")
    replay_recorded(context, step.recorded, as_recorded=step.placed == "as-recorded")


def _make_burst_dues(context: StepContext, step: Burst, workload: Workload) -> Iterator[Due]:
    count, first = step.pods, context.made[workload.name]
    lifetimes = step.lifetime.draws_s(count) if step.lifetime else repeat(None, count)
    pairs = zip(step.arrival.times_s(count), lifetimes, strict=True)
    for number, (at_s, lifetime_s) in enumerate(pairs, start=first):
        name = f"{workload.name}-{number:05}"
        manifest = make_bare_pod(workload, name, context.namespace, lifetime_s)
        yield Due(at_s, name, partial(context.create, manifest))


def _create(context: StepContext, dues: Iterable[Due], *, paced: bool) -> None:
    pacing = pace(context, dues)
    context.facts["pods"] = pacing.done
    if paced:
        note_lateness(context, pacing)
