"""What measuring costs: the same burst with and without, in turn.

With: an observer watches pods and nodes, waits on their state, and makes a record.
Without: one small object is polled until all is ready. One judge times both, the API
server's audit log, from the first creation to the last binding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import median

from benchmarks.comparison.scope import HarnessScope
from benchmarks.harness.burst import Burst, burst_environment
from benchmarks.harness.runs import MeasuredBurst, measured_burst, unmeasured_burst_s
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.recording.run_record import RunLabel
from stowage_testbed.text.figure import Figure, Target, at_most, figure

LIMIT_PERCENT = 5.0


@dataclass(frozen=True, slots=True)
class HarnessCost:
    """The same burst, one of each kind a round.

    Attributes
    ----------
    unmeasured_s
        Durations in seconds.
    """

    burst: Burst
    measured: tuple[MeasuredBurst, ...]
    unmeasured_s: tuple[float, ...]

    @property
    def measured_s(self) -> tuple[float, ...]:
        """Durations of the measured bursts in seconds."""
        return tuple(one.duration_s for one in self.measured)

    def figure(self) -> Figure:
        """Return by how much measuring slows a run, in percent, with its spread."""
        pairs = zip(self.measured_s, self.unmeasured_s, strict=True)
        return figure(
            f"measuring slows a burst of {self.burst.replicas} pods by",
            "%",
            [100 * (measured / unmeasured - 1) for measured, unmeasured in pairs],
            median,
            Target(f"< {LIMIT_PERCENT:g} %", lambda value: value < LIMIT_PERCENT),
            note="first creation to last binding by the audit log, with and without "
            "watches in turn; median of the rounds",
        )


def harness_cost(
    cluster: Cluster, burst: Burst, *, rounds: int, pids: Iterable[int] = ()
) -> HarnessCost:
    """Time a burst with and without measuring; in every other round without is first.

    Parameters
    ----------
    cluster
        Its nodes are ready, and a scheduler serves that places the burst's pods.
    rounds
        Pairs of bursts. One pair more goes before them, to warm up, and is not counted.
    pids
        The scheduler's processes.
    """
    pids = tuple(pids)
    measured: list[MeasuredBurst] = []
    unmeasured_s: list[float] = []
    with cluster.api_client() as api:

        def watch(number: int) -> None:
            label = RunLabel("harness-cost", "", round_number=number, warm=number > 0)
            measured.append(measured_burst(cluster, api, burst, label, pids))

        def leave_alone() -> None:
            unmeasured_s.append(unmeasured_burst_s(cluster, api, burst))

        for number in range(rounds + 1):
            if number % 2:
                leave_alone()
                watch(number)
            else:
                watch(number)
                leave_alone()
    return HarnessCost(burst, tuple(measured[1:]), tuple(unmeasured_s[1:]))


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
