"""Steps that create pods one by one, when they are to come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import repeat

from stowage_testbed.errors import StowageError
from stowage_testbed.run.steps.course import Course
from stowage_testbed.run.steps.errors import ArrivalsLateError, NotThereError
from stowage_testbed.run.steps.pacing import Due, Pacer
from stowage_testbed.scenario.manifests import bare_pod_manifest
from stowage_testbed.scenario.model import Workload
from stowage_testbed.scenario.steps.model import Burst, Replay


def burst(course: Course, step: Burst) -> None:
    """Create pods like a workload's, at the times that the process draws."""
    workload = course.workload(step.workload)
    if workload is None:
        raise NotThereError("workload", step.workload)
    at_once = step.arrival.process == "at-once"
    _create(course, _burst_dues(course, step, workload), "burst", paced=not at_once)
    course.made[step.workload] += step.pods


def replay(course: Course, step: Replay) -> None:
    """Create the pods of a trace when they came."""
    _create(course, _replay_dues(course, step), "replay", paced=True)


def _burst_dues(course: Course, step: Burst, workload: Workload) -> Iterator[Due]:
    count, first = step.pods, course.made[workload.name]
    lifetimes = step.lifetime.draws_s(count) if step.lifetime else repeat(None, count)
    pairs = zip(step.arrival.times_s(count), lifetimes, strict=True)
    for number, (at_s, lifetime_s) in enumerate(pairs, start=first):
        name = f"{workload.name}-{number:05}"
        manifest = bare_pod_manifest(workload, name, course.namespace, lifetime_s)
        yield Due(at_s, name, partial(course.create, manifest))


def _replay_dues(course: Course, step: Replay) -> Iterator[Due]:
    for pod in step.pods:
        workload = Workload(
            name=pod.owner,
            replicas=0,
            cpu_milli=pod.template.cpu_milli,
            memory_bytes=pod.template.memory_bytes,
            priority=pod.template.priority,
        )
        manifest = bare_pod_manifest(
            workload, pod.name, course.namespace, pod.lifetime_s
        )
        yield Due(pod.at_s, pod.name, partial(course.create, manifest))


def _create(course: Course, dues: Iterable[Due], kind: str, *, paced: bool) -> None:
    allowed_s = course.timeouts.step_s(course.scenario, kind)

    def too_late(pod: str, late_s: float) -> StowageError:
        return ArrivalsLateError(pod, late_s, allowed_s)

    pacer = Pacer(course.bench.observer.clock, allowed_s, too_late)
    pacing = pacer.run(dues)
    course.facts["pods"] = pacing.done
    if not paced:
        return
    course.facts |= {"late": pacing.late, "latest_s": round(pacing.latest_s, 3)}
    if pacing.late:
        course.tell(
            f"{pacing.late} of {pacing.done} pods came late, by "
            f"{pacing.latest_s:.2f} s at most"
        )
