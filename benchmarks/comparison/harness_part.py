"""What measuring costs, and whether it loses anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks.comparison.scope import HarnessScope
from benchmarks.harness.burst import Burst
from benchmarks.harness.cost import harness_cost
from benchmarks.harness.environment import burst_environment
from benchmarks.harness.runs import measured_burst
from stowage_testbed.recording.run_record import RunLabel
from stowage_testbed.text.figure import Figure, at_most, figure

NONE = at_most(0)


def harness_figures(
    scope: HarnessScope, say: Callable[[str], None]
) -> Iterator[Figure]:
    """Measure on a cluster of its own, and yield the figures."""
    with burst_environment(scope.nodes) as environment:
        say(f"a burst of {scope.replicas} pods with and without measuring")
        burst = Burst(scope.replicas, environment.pod_overrides)
        cost = harness_cost(
            environment.cluster, burst, rounds=scope.rounds, pids=environment.pids
        )
        yield cost.figure()
        say(f"a burst of {scope.many} pods, all of whose events are counted")
        with environment.cluster.api_client() as api:
            made = measured_burst(
                environment.cluster,
                api,
                Burst(scope.many, environment.pod_overrides),
                RunLabel("harness-loss", ""),
                environment.pids,
            )
    record = made.record
    bound = sum(pod.bound_s is not None for pod in record.pods)
    note = record.error or f"the API server counts {record.api_pods} pods"
    for what, seen in (("receipts", len(record.pods)), ("bindings", bound)):
        lost = abs((record.api_pods or 0) - seen) + abs(scope.many - seen)
        one = figure(
            f"{what} of {scope.many} pods that the watch missed",
            "pods",
            [float(lost)],
            max,
            NONE,
            note=note,
        )
        yield replace(one, met=one.met and not record.error)
