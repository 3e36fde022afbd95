"""One cell: a cluster is built, and each round measures its windows on it.

Where the profile `default` is measured beside, it goes first in one round and last in
the next, so that neither has always the younger cluster.
"""

import secrets
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.engine import Rounds, Say, build_of
from benchmarks.live.cell import Cell, LiveScope, Part
from benchmarks.live.cluster import (
    LIVE,
    SELDOM_RENEWED,
    STEADY,
    all_at_once,
    build,
    churning,
    large_manifests,
    large_prefix,
    ready_pods,
    tiny_pod,
)
from benchmarks.live.figures import cell_figures
from benchmarks.live.window import METRICS_VALUES, TINY, Meter, Moments, Row, Window
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.helm import Release, install_release
from stowage_testbed.observe.condition import Condition, ConditionResult, plans_in_words
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.source import PACKING_PLANS, RESERVATIONS, Source
from stowage_testbed.observe.state import State
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.reproduce.rebuilding import write_figures

IDLE_S = 3.0
"""A scheduler that has just started is left alone for so long."""

QUIET_S = 3.0
"""No plan may change for so long: the chart's settle time, its limit, and a margin."""

RELEASE_TIMEOUT_S = 300.0
BURST_TIMEOUT_S = 300.0
STORED_TIMEOUT_S = 60.0

SOURCES = (
    Source("Pod", f"/api/v1/namespaces/{LIVE}/pods"),
    Source("ReplicaSet", f"/apis/apps/v1/namespaces/{STEADY}/replicasets"),
)
"""Thousands of steady pods are not watched: their ReplicaSets show their state."""


def run_cell(cell: Cell, say: Say) -> Iterator[Row]:
    """Measure every round of a cell on a cluster of its own."""
    cluster = KwokBinaryCluster(f"live-{secrets.token_hex(3)}", extra_args=SELDOM_RENEWED)
    with running_cluster(cluster), cluster.api_client() as api:
        objects = Objects(api)
        say(f"{cell.name}: building {cell.nodes} nodes with {cell.steady} pods")
        build(cluster, objects, cell)
        with Observer(api, SOURCES) as observer:
            run = CellRun(cell, cluster, objects, observer, say)
            for number in range(cell.rounds):
                yield from run.round(number)


@dataclass(slots=True)
class CellRun:
    """Measures windows on a cluster that is built."""

    cell: Cell
    cluster: KwokBinaryCluster
    objects: Objects
    observer: Observer
    say: Say
    _profile: str = ""
    _release: Release | None = None
    _pause: Callable[[float], object] = field(default_factory=lambda: threading.Event().wait)

    def round(self, number: int) -> Iterator[Row]:
        """Measure the windows of one round."""
        beside, other = [Window.DEFAULT], [Window.IDLE, Window.PLAN]
        in_turn = [*other, *beside] if number % 2 else [*beside, *other]
        for window in in_turn if self.cell.beside else [Window.PLAN]:
            row = self._measured(window, number)
            self.say(f"{self.cell.name}: round {number + 1}, {in_words(row)}")
            if row.plan is not None and row.plan.unready:
                # The next round's plan is for its own pods alone.
                for manifest in large_manifests(self.cell, number):
                    self.objects.delete("ReplicaSet", manifest["metadata"]["name"], namespace=LIVE)
            yield row

    def _measured(self, window: Window, number: int) -> Row:
        release = self._serving("default" if window is Window.DEFAULT else "optimizer")
        self._pause(IDLE_S)
        there = self.observer.restart_journal()
        meter = Meter(self.cluster, release)
        began = self.observer.clock.now()
        prefix = f"{TINY}-{window}-{number}"
        with churning(self.objects, prefix, self.cell.events_per_s, self.observer.clock):
            if window is Window.PLAN:
                self._execute_plan(number, prefix)
            elif self.cell.burst:
                self._burst(prefix)
        usage = meter.read()
        length_s = self.observer.clock.now().seconds_since(began)
        self._clear_tiny()
        moments = Moments([*there, *self.observer.take_journal()])
        return Row(
            number=number,
            window=window,
            length_s=length_s,
            tiny=moments.tiny(),
            usage=usage,
            plan=moments.plan_row(self.cell.large) if window is Window.PLAN else None,
        )

    def _serving(self, profile: str) -> Release:
        if self._release is None or self._profile != profile:
            self._release = install_release(
                self.cluster,
                profile=profile,
                optimizer_enabled=profile == "optimizer",
                values=METRICS_VALUES,
                timeout_s=RELEASE_TIMEOUT_S,
            )
            self._profile = profile
            for source in (PACKING_PLANS, RESERVATIONS):
                self.observer.watch(source)
        return self._release

    def _execute_plan(self, number: int, prefix: str) -> None:
        """Let the large pods arrive, and wait until all is at rest or time is up."""
        all_at_once(self.objects.create, large_manifests(self.cell, number))
        if self.cell.burst:
            self._await("a plan to begin", plan_begun, STORED_TIMEOUT_S)
            self._burst(prefix)
        rest = at_rest(large_prefix(number), self.cell.large, self.cell.steady)
        self._await("all pods to be ready", rest, self.cell.timeout_s, QUIET_S)

    def _burst(self, prefix: str) -> None:
        all_at_once(self.objects.create, (tiny_pod(f"{prefix}-{n:05}") for n in range(self.cell.burst)))
        self._await("the burst", bound(prefix, self.cell.burst), BURST_TIMEOUT_S)

    def _clear_tiny(self) -> None:
        for one in self.observer.read(_tiny_pods):
            self.objects.delete("Pod", one.name, namespace=LIVE, at_once=True)
        self._await("the tiny pods to go", tiny_gone, BURST_TIMEOUT_S)

    def _await(self, what: str, condition: Condition, timeout_s: float, quiet_s: float = 0.0) -> None:
        """Wait; a condition that is not met is a figure, with its last state."""
        try:
            self.observer.wait_for(what, condition, timeout_s=timeout_s, quiet_s=quiet_s, quiet_kinds=("PackingPlan",))
        except WaitTimeoutError as late:
            self.say(f"{self.cell.name}: {late}")


def at_rest(prefix: str, large: int, steady: int) -> Condition:
    """Hold when so many pods are ready and no plan is open."""

    def condition(state: State) -> ConditionResult:
        pods = [one for one in state.all_pods(LIVE) if one.name.startswith(prefix)]
        ready = sum(pod.ready for pod in pods)
        steady_ready = ready_pods(state.bodies("ReplicaSet", STEADY))
        plans = state.plans()
        words = (
            f"{ready} of {large} large and {steady_ready} of {steady} steady pods are ready; {plans_in_words(plans)}"
        )
        done = bool(plans) and all(plan.finished for plan in plans)
        return ConditionResult(done and (ready, steady_ready) == (large, steady), words)

    return condition


def bound(prefix: str, count: int) -> Condition:
    """Hold when so many pods of a name that begins like this have a node."""

    def condition(state: State) -> ConditionResult:
        pods = [one for one in state.all_pods(LIVE) if one.name.startswith(prefix)]
        number = sum(pod.bound for pod in pods)
        return ConditionResult(number >= count, f"{number} of {count} pods have a node")

    return condition


def plan_begun(state: State) -> ConditionResult:
    """Hold when a plan is being carried out."""
    plans = state.plans()
    return ConditionResult(any(plan.phase == "Executing" for plan in plans), plans_in_words(plans))


def tiny_gone(state: State) -> ConditionResult:
    """Hold when none of the pods is left that no plan concerns."""
    left = len(_tiny_pods(state))
    return ConditionResult(not left, f"{left} are left")


def _tiny_pods(state: State) -> list[Pod]:
    return [one for one in state.all_pods(LIVE) if one.name.startswith(TINY)]


def in_words(row: Row) -> str:
    """Return a row in a line."""
    if row.plan is None:
        return f"{row.window}: {len(row.tiny)} pods in {row.length_s:.1f} s"
    ready = "never" if row.plan.ready_s is None else f"after {row.plan.ready_s:.1f} s"
    return f"{row.window}: all ready {ready}, {row.plan.moved} moved, {len(row.plan.given_up)} plans given up"


NAME = "live"


def run_benchmark(scope: LiveScope, parts: Collection[Part], results: Path, say: Say) -> str:
    """Measure parts of a scope, write ``<results>/live.json``, return the table.

    A cell that was measured is not measured again. The figures are of all cells of the
    scope that were measured until now.
    """
    rounds = Rounds(results / NAME / f"rows-{build_of('stowage-scheduler')}.jsonl", Row)
    compile_optimizer()
    for cell in scope.cells:
        if cell.part in parts:
            rounds.measured(cell.name, partial(run_cell, cell, say))
    figures = [one for cell in scope.cells for one in cell_figures(cell, rounds.get(cell.name))]
    return write_figures(results / f"{NAME}.json", figures, {"scope": scope.name})
